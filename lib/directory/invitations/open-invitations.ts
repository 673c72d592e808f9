import { IdpError } from '../../errors.js';
import type { Invitation, PersonWithUser, UserInvitation } from '../../store/records/records.js';
import type { DirectoryContext } from '../context.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import { mailable } from '../persons/email-addresses.js';
import { createPersonRows } from '../persons/person-rows.js';
import { hasUser } from '../persons/user-record.js';
import { voucherFor, weaker } from '../vouchers.js';
import { type InvitationView, viewOf } from './invitation-lists.js';
import { invitationState, isExpired } from './invitation-state.js';
import type { InvitationParts, Invitations } from './invitations.js';
import { onBehalf } from './metadata.js';
import { checkSending, expiryOf } from './new-invitations.js';

/** Creates the changes of an invitation that is not accepted yet: a new invitation link, a revocation, a read of the invitation link. */
export function createOpenInvitations(
  context: DirectoryContext,
  parts: InvitationParts,
  requireRow: (id: string) => Promise<Invitation>,
  tid: string,
): Pick<Invitations, 'resend' | 'revoke' | 'link'> {
  const scope: Scope = { ...parts, context, requireRow, tid };
  return {
    resend: (id) => resend(scope, id),
    revoke: (id) => revoke(scope, id),
    link: (id) => link(scope, id),
  };
}

/** The invitations of one tenant. */
interface Scope extends InvitationParts {
  readonly context: DirectoryContext;
  readonly requireRow: (id: string) => Promise<Invitation>;
  readonly tid: string;
}

async function resend(scope: Scope, id: string): Promise<InvitationView> {
  const { context, invitationDeliveries, rules, tid } = scope;
  const { now } = context;
  const row = await scope.requireRow(id);
  const person = await createPersonRows(context, tid).get(row.personId);
  const { once } = context.by;
  // An earlier run of the request created the invitation link, and enqueued its mail.
  if (once && person?.user?.invitation?.id === id && person.user.invitation.once === once.id) return shown(scope, id);
  checkSending(rules, { email: mailable(person?.email) });
  const serial = (person?.user?.invitation?.serial ?? 0) + 1;
  const vouchedBy = await voucherFor(context, tid, person);
  const { release, mailing } = await invitationDeliveries.enqueue({ id, serial, by: context.by });
  await change(scope, row, (open, current) => {
    checkSending(rules, { email: mailable(current.email) });
    // A concurrent call resends the invitation, and the new invitation link is as good.
    if (open.serial >= serial) return current;
    const invitation = {
      id,
      serial,
      expiresAt: expiryOf(rules, now()),
      send: true,
      mailing,
      ...(once && { once: once.id }),
      vouchedBy,
    };
    return { ...current, user: { ...current.user, invitation }, updatedAt: new Date(now()) };
  });
  release();
  return shown(scope, id);
}

async function revoke(scope: Scope, id: string): Promise<InvitationView> {
  const { now } = scope.context;
  const row = await scope.requireRow(id);
  if (row.status === 'revoked') return viewOf(row, now());
  await scope.invitationDeliveries.enqueue({ id });
  await change(scope, row, (_, current) => {
    const { invitation, ...user } = current.user;
    const event = pendingEvent(now, 'InvitationRevoked', scope.tid, { AggregateId: id, UserId: user.id });
    return withEvents({ ...current, user, updatedAt: new Date(now()) }, event);
  });
  return shown(scope, id);
}

async function link(scope: Scope, id: string): ReturnType<Invitations['link']> {
  const { context, links, rules, tid } = scope;
  const { now } = context;
  const row = await scope.requireRow(id);
  const seenBy = await voucherFor(context, tid, await createPersonRows(context, tid).get(row.personId));
  const { user } = await change(scope, row, (open, current) => {
    if (isExpired(open, now())) throw new IdpError('invitation_over');
    const vouchedBy = weaker(open.vouchedBy, seenBy);
    const invitation = { ...open, fetches: (open.fetches ?? 0) + 1, ...(vouchedBy && { vouchedBy }) };
    const event = pendingEvent(now, 'InvitationLinkFetched', tid, { AggregateId: id, UserId: current.user.id });
    return withEvents({ ...current, user: { ...current.user, invitation }, updatedAt: new Date(now()) }, event);
  });
  const { serial = 1, expiresAt = row.expiresAt } = user.invitation ?? {};
  return { url: rules.urlOf(links.tokenOf({ id, serial })), expiresAt };
}

/** Changes the open invitation of the person. @throws IdpError `invitation_over` when it is no longer open. */
async function change(
  { context, tid }: Scope,
  row: Invitation,
  next: (invitation: UserInvitation, person: PersonWithUser) => PersonWithUser,
): Promise<PersonWithUser> {
  const person = await createPersonRows(onBehalf(context, row), tid).update(row.personId, (current) => {
    const open = current.user?.invitation;
    const isOpen = ['pending', 'expired'].includes(invitationState(current.user, row, context.now()));
    if (!hasUser(current) || !open || !isOpen) throw new IdpError('invitation_over');
    return next(open, current);
  });
  return person as PersonWithUser;
}

async function shown({ context, invitationDeliveries, tid }: Scope, id: string): Promise<InvitationView> {
  const row = await invitationDeliveries.updateRow(id);
  if (row?.tid !== tid) throw new IdpError('not_found');
  return viewOf(row, context.now());
}
