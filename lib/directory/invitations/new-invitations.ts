import { IdpError } from '../../errors.js';
import type { Client, Invitation, PersonWithUser, UserInvitation, Voucher } from '../../store/records/records.js';
import type { DirectoryContext } from '../context.js';
import { idFor } from '../identifiers.js';
import { checkInput, newRecord } from '../input.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import { mailable } from '../persons/email-addresses.js';
import { createPersonRows, type PersonRows } from '../persons/person-rows.js';
import type { PersonInput } from '../persons/persons.js';
import { mayLinkAccounts } from '../tenants/sign-in-policy.js';
import type { TenantScope } from '../tenants/tenant-scope.js';
import { voucherFor } from '../vouchers.js';
import { type InvitationView, viewOf } from './invitation-lists.js';
import { type InvitationInput, type InvitationParts, type Invitations, invitationInput } from './invitations.js';
import { onBehalf } from './metadata.js';

/** Creates invitations. All checks come first, then the write of the row, then the write of the person's document. */
export function createNewInvitations(
  context: DirectoryContext,
  parts: InvitationParts,
  rows: TenantScope<Invitation>,
  tid: string,
): Pick<Invitations, 'create' | 'createPerson'> {
  const scope: Scope = { ...parts, context, rows, personRows: createPersonRows(context, tid), tid };
  return {
    create: (userId, input) => create(scope, userId, input),
    createPerson: (personInput, input) => createPerson(scope, personInput, input),
  };
}

/** The invitations of one tenant. */
interface Scope extends InvitationParts {
  readonly context: DirectoryContext;
  readonly rows: TenantScope<Invitation>;
  readonly personRows: PersonRows;
  readonly tid: string;
}

async function create(scope: Scope, userId: string, input: InvitationInput): Promise<InvitationView> {
  const { context, invitationDeliveries, rows, personRows, tid } = scope;
  const { now } = context;
  checkInput(invitationInput, input);
  const person = await personRows.requireByUser(userId);
  if (person.user.status !== 'invited') throw new IdpError('user_not_invited');
  const client = await checked(scope, input, { email: mailable(person.email) });
  const row = rowFor(scope, input, client, { personId: person.id, userId });
  const vouchedBy = await voucherFor(context, tid, person);
  const { release, withdraw, mailing } = await enqueue(scope, row.id, input);
  const invitation = await insert(scope, row).catch(refusedWith(withdraw));
  let replaced: string | undefined;
  try {
    await createPersonRows(onBehalf(context, invitation), tid).updateByUser(userId, (current) => {
      const { user } = current;
      if (user.status !== 'invited') throw new IdpError('user_not_invited');
      if (user.invitation?.id === invitation.id) return current;
      replaced = user.invitation?.id;
      const next = {
        ...current,
        user: { ...user, invitation: openInvitation(invitation, vouchedBy, mailing) },
        updatedAt: new Date(now()),
      };
      const invited = pendingEvent(now, 'UserInvited', tid, { AggregateId: userId, InvitationId: invitation.id });
      const ended = replaced === undefined ? [] : [pendingEvent(now, 'InvitationRevoked', tid, { AggregateId: replaced, UserId: userId })];
      return withEvents(next, ...ended, invited);
    });
  } catch (error) {
    await rows.remove(invitation.id).catch(() => undefined);
    return refusedWith(withdraw)(error);
  }
  release();
  if (replaced !== undefined) await invitationDeliveries.updateRow(replaced);
  return viewOf(invitation, now());
}

async function createPerson(scope: Scope, personInput: PersonInput, input: InvitationInput): ReturnType<Invitations['createPerson']> {
  const { context, personsOf, rows, tid } = scope;
  checkInput(invitationInput, input);
  if (personInput.user === undefined) throw new IdpError('user_required');
  if ((personInput.user.status ?? 'invited') !== 'invited') throw new IdpError('user_not_invited');
  const client = await checked(scope, input, personInput);
  const personId = idFor(personInput.id);
  const userId = idFor(personInput.user.id);
  const row = rowFor(scope, input, client, { personId, userId });
  const vouchedBy = await voucherFor(context, tid);
  const { release, withdraw, mailing } = await enqueue(scope, row.id, input);
  const invitation = await insert(scope, row).catch(refusedWith(withdraw));
  try {
    const given = { ...personInput, id: personId, user: { ...personInput.user, id: userId } };
    const person = await personsOf(onBehalf(context, invitation)).create(given, openInvitation(invitation, vouchedBy, mailing));
    release();
    return { person: person as PersonWithUser, invitation: viewOf(invitation, context.now()) };
  } catch (error) {
    // If the person exists nevertheless, its invitation is valid.
    if (await isNamed(scope, personId, invitation.id)) throw error;
    await rows.remove(invitation.id).catch(() => undefined);
    return refusedWith(withdraw)(error);
  }
}

/** Checks everything that can be checked before a write. */
async function checked(scope: Scope, input: InvitationInput, person: { readonly email?: string | undefined }): Promise<Client | undefined> {
  const { context, rules, tid } = scope;
  if (input.send) checkSending(rules, person);
  if (input.link) {
    if (rules.personalTenant === undefined) throw new IdpError('personal_tenant_missing');
    if (rules.personalTenant === tid) throw new IdpError('link_same_tenant');
    for (const id of [tid, rules.personalTenant])
      if (!mayLinkAccounts(await context.collections.tenants.get(id))) throw new IdpError('link_not_allowed');
  }
  return clientFor(scope, input.clientId);
}

async function clientFor({ clients, tid }: Scope, clientId: string | undefined): Promise<Client | undefined> {
  if (clientId === undefined) return undefined;
  const client = await clients.get(clientId);
  if (client?.status !== 'active' || !(client.allowedTenants?.includes(tid) ?? true)) throw new IdpError('client_unknown');
  return client;
}

function rowFor(
  { context: { now }, rules }: Scope,
  { id, send, link = false, locale }: InvitationInput,
  client: Client | undefined,
  { personId, userId }: { readonly personId: string; readonly userId: string },
) {
  return newRecord(now, idFor(id), {
    personId,
    userId,
    ...(client && { clientId: client.id, clientName: client.name }),
    link,
    ...(locale !== undefined && { locale }),
    send,
    status: 'pending' as const,
    expiresAt: expiryOf(rules, now()),
  });
}

/** Inserts the row. If a crash cut the same call short before, its row is replaced. */
async function insert({ rows }: Scope, row: ReturnType<typeof rowFor>): Promise<Invitation> {
  return rows.insert(row).catch(async (error: unknown) => {
    const stored = IdpError.is(error, 'conflict') ? await rows.get(row.id) : undefined;
    if (stored?.personId !== row.personId || stored.userId !== row.userId) throw error;
    return rows.update(row.id, () => row as Invitation);
  });
}

const enqueue = ({ context, invitationDeliveries }: Scope, id: string, { send }: InvitationInput) =>
  invitationDeliveries.enqueue({ id, isNew: true, ...(send && { serial: 1, by: context.by }) });

async function isNamed({ personRows }: Scope, personId: string, invitationId: string): Promise<boolean> {
  const person = await personRows.get(personId);
  return person?.user?.invitation?.id === invitationId;
}

/** Withdraws the delivery of a write that was refused. A write that failed in another way may have been made, or may still be made. */
const refusedWith =
  (withdraw: () => Promise<void>) =>
  async (error: unknown): Promise<never> => {
    if (error instanceof IdpError && error.code !== 'store_unavailable') await withdraw().catch(() => undefined);
    throw error;
  };

const openInvitation = ({ id, send, expiresAt }: Invitation, vouchedBy: Voucher, mailing: string): UserInvitation => ({
  ...{ id, serial: 1, expiresAt, send, mailing },
  vouchedBy,
});

/** @throws IdpError `email_required`, `mail_not_configured`. */
export function checkSending({ hasMail }: InvitationParts['rules'], { email }: { readonly email?: string | undefined }): void {
  if (email === undefined) throw new IdpError('email_required');
  if (!hasMail) throw new IdpError('mail_not_configured');
}

/** Returns the time at which an invitation link that is created now expires. */
export const expiryOf = ({ lifetimeSeconds }: InvitationParts['rules'], now: number): Date => new Date(now + lifetimeSeconds * 1000);
