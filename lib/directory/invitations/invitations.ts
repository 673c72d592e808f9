/**
 * Invitations: how a user that others made becomes active.
 *
 * The invitation is written first, then the person's document, which names the one invitation that is good, and the number of its link: whoever accepts,
 * resends or revokes writes that document. The row tells what the invitation is for, and is brought in line afterwards (`settling`). `links` makes
 * links from the keys of the service, and `acceptance` is what becomes of one.
 */
import { type Static, Type } from '@sinclair/typebox';
import { IdpError } from '../../errors.js';
import { collections as specs } from '../../store/records/collections.js';
import type { Client, Invitation, Person, PersonWithUser, UserInvitation } from '../../store/records/records.js';
import type { Clients } from '../clients/clients.js';
import type { DirectoryContext } from '../context.js';
import { idFor } from '../identifiers.js';
import { checkInput, inputSchema, newRecord } from '../input.js';
import type { MailedLinks } from '../mailed-links.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import { createPersonRows } from '../persons/person-rows.js';
import type { PersonInput, Persons } from '../persons/persons.js';
import { hasUser } from '../persons/user-record.js';
import { createTenantScope } from '../tenants/tenant-scope.js';
import { onBehalf } from './metadata.js';
import type { Settling } from './settling.js';

export const invitationInput = inputSchema({
  id: Type.Optional(Type.String()),
  send: Type.Boolean(),
  clientId: Type.Optional(Type.String()),
  link: Type.Optional(Type.Boolean()),
  locale: Type.Optional(Type.String({ pattern: '^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$' })),
});
/**
 * `send`: whether the link is e-mailed. `clientId`: whose look its pages have, and where the user goes afterwards. `link`: whether the user is linked to a
 * personal account. `locale`: the language of its mail and pages.
 * @interface
 */
export type InvitationInput = Static<typeof invitationInput>;

export interface InvitationQuery {
  readonly status?: InvitationView['status'];
  readonly personId?: string;
  readonly userId?: string;
  /** 1 to 200. @default 50 */
  readonly limit?: number;
  /** The `next` of the page before. */
  readonly after?: string;
}

/** An invitation as it is now. */
export type InvitationView = Omit<Invitation, 'status' | 'clientName'> & { readonly status: Invitation['status'] | 'expired' };

/** The invitations of a tenant. A user has one at a time that can be accepted. */
export interface Invitations {
  /**
   * Invites a user, in the place of an invitation that the user may have. Nothing is written on an error.
   * @throws IdpError `not_found`, `invalid_record`, `user_not_invited`, `email_required`, `mail_not_configured`, `personal_tenant_missing`,
   * `link_same_tenant`, `client_unknown`.
   */
  create(userId: string, input: InvitationInput): Promise<InvitationView>;
  /**
   * A new person with an invited user and an invitation. Nothing is written on an error.
   * @throws IdpError `user_required`, and those of {@link create} and of `persons.create`.
   */
  createPerson(
    person: PersonInput,
    input: InvitationInput,
  ): Promise<{ readonly person: PersonWithUser; readonly invitation: InvitationView }>;
  get(id: string): Promise<InvitationView | undefined>;
  /** @throws IdpError `not_found`. */
  require(id: string): Promise<InvitationView>;
  /** Oldest first. @throws IdpError `invalid_cursor`. */
  list(query?: InvitationQuery): Promise<{ readonly items: readonly InvitationView[]; readonly next?: string }>;
  /** Sends another link, with all its time; those before are void. @throws IdpError `not_found`, `invitation_over`, `email_required`, `mail_not_configured`. */
  resend(id: string): Promise<InvitationView>;
  /** @throws IdpError `not_found`, `invitation_over` for one that was accepted. */
  revoke(id: string): Promise<InvitationView>;
  /** The link, which proves no address from now on. @throws IdpError `not_found`, `invitation_over`. */
  link(id: string): Promise<{ readonly url: string; readonly expiresAt: Date }>;
}

/** What the options say of invitations. */
export interface InvitationRules {
  /** Whether mail can be sent. */
  readonly hasMail: boolean;
  /** The tenant of personal accounts. */
  readonly personalTenant?: string | undefined;
  /** Seconds that a link is good for. */
  readonly lifetimeSeconds: number;
  /** The page of a link. */
  readonly urlOf: (token: string) => string;
}

export interface InvitationParts {
  /** The service over these collections. */
  readonly personsOf: (context: DirectoryContext) => Persons;
  readonly clients: Clients;
  readonly settling: Settling;
  readonly links: MailedLinks;
  readonly rules: InvitationRules;
}

const PAGE = 100;

type Filters = { readonly [Name in 'status' | 'personId' | 'userId']: InvitationQuery[Name] | undefined };

/** The narrowest index for the filters, and its values. */
function lookUpOf({ status, personId, userId }: Filters) {
  if (personId !== undefined) return ['byPerson', [personId]] as const;
  if (userId !== undefined) return ['byUser', [userId]] as const;
  // An invitation is stored as pending until its row is settled, also once its time is over.
  if (status !== undefined) return ['byStatus', [status === 'expired' ? 'pending' : status]] as const;
  return ['byTenant', []] as const;
}

export function createInvitations(
  context: DirectoryContext,
  { personsOf, clients, settling, links, rules }: InvitationParts,
  tid: string,
): Invitations {
  const rows = createTenantScope(context.collections.invitations, specs.invitations, tid);
  const personRows = createPersonRows(context, tid);
  const rowsOf = (invitation: Pick<Invitation, 'clientId' | 'clientName'>) => createPersonRows(onBehalf(context, invitation), tid);

  const expiry = (): Date => new Date(Date.now() + rules.lifetimeSeconds * 1000);

  async function clientFor(clientId: string | undefined): Promise<Client | undefined> {
    if (clientId === undefined) return undefined;
    const client = await clients.get(clientId);
    if (client?.status !== 'active' || !(client.allowedTenants?.includes(tid) ?? true)) throw new IdpError('client_unknown');
    return client;
  }

  function checkSending({ email }: { readonly email?: string | undefined }): void {
    if (email === undefined) throw new IdpError('email_required');
    if (!rules.hasMail) throw new IdpError('mail_not_configured');
  }

  /** What can be known before anything is written. */
  async function checked(input: InvitationInput, person: { readonly email?: string | undefined }): Promise<Client | undefined> {
    if (input.send) checkSending(person);
    if (input.link) {
      if (rules.personalTenant === undefined) throw new IdpError('personal_tenant_missing');
      if (rules.personalTenant === tid) throw new IdpError('link_same_tenant');
    }
    return clientFor(input.clientId);
  }

  function rowFor(input: InvitationInput, client: Client | undefined, { personId, userId }: { personId: string; userId: string }) {
    const { id, send, link = false, locale } = input;
    return newRecord(idFor(id), {
      personId,
      userId,
      ...(client && { clientId: client.id, clientName: client.name }),
      link,
      ...(locale !== undefined && { locale }),
      send,
      status: 'pending' as const,
      expiresAt: expiry(),
    });
  }

  /** The row of the same call that a crash cut short is taken over. */
  async function insert(row: ReturnType<typeof rowFor>): Promise<Invitation> {
    return rows.insert(row).catch(async (error: unknown) => {
      const known = IdpError.is(error, 'conflict') ? await rows.get(row.id) : undefined;
      if (known?.personId !== row.personId || known.userId !== row.userId) throw error;
      return rows.update(row.id, () => row as Invitation);
    });
  }

  const openInvitation = ({ id, send, expiresAt }: Invitation, serial = 1): UserInvitation => ({ id, serial, expiresAt, send });

  async function requireRow(id: string): Promise<Invitation> {
    const row = await rows.get(id);
    if (!row || !(await isWhole(row))) throw new IdpError('not_found');
    return row;
  }

  /** Without its person, it is none. */
  const isWhole = async (row: Invitation): Promise<boolean> => (await personRows.get(row.personId))?.user?.id === row.userId;

  /** Changes the open invitation of the person. @throws IdpError `invitation_over` when it is open no more. */
  async function change(
    row: Invitation,
    next: (invitation: UserInvitation, person: PersonWithUser) => PersonWithUser,
  ): Promise<PersonWithUser> {
    const person = await rowsOf(row).update(row.personId, (current) => {
      const open = current.user?.invitation;
      if (!hasUser(current) || open?.id !== row.id || current.user.status !== 'invited') throw new IdpError('invitation_over');
      return next(open, current);
    });
    return person as PersonWithUser;
  }

  async function shown(id: string): Promise<InvitationView> {
    const row = await settling.settle(id);
    if (row?.tid !== tid) throw new IdpError('not_found');
    return viewOf(row);
  }

  return {
    async create(userId, input) {
      checkInput(invitationInput, input);
      const person = await personRows.requireByUser(userId);
      if (person.user.status !== 'invited') throw new IdpError('user_not_invited');
      const client = await checked(input, person);
      const row = rowFor(input, client, { personId: person.id, userId });
      const { release } = await settling.announce({ id: row.id, ...(input.send && { serial: 1 }) });
      const invitation = await insert(row);
      let replaced: string | undefined;
      try {
        await rowsOf(invitation).updateByUser(userId, (current) => {
          const { user } = current;
          if (user.status !== 'invited') throw new IdpError('user_not_invited');
          if (user.invitation?.id === invitation.id) return current;
          replaced = user.invitation?.id;
          const next = { ...current, user: { ...user, invitation: openInvitation(invitation) }, updatedAt: new Date() };
          const invited = pendingEvent('UserInvited', tid, { AggregateId: userId, InvitationId: invitation.id });
          const ended = replaced === undefined ? [] : [pendingEvent('InvitationRevoked', tid, { AggregateId: replaced, UserId: userId })];
          return withEvents(next, ...ended, invited);
        });
      } catch (error) {
        await rows.remove(invitation.id).catch(() => undefined);
        throw error;
      }
      release();
      if (replaced !== undefined) await settling.settle(replaced);
      return viewOf(invitation);
    },

    async createPerson(personInput, input) {
      checkInput(invitationInput, input);
      if (personInput.user === undefined) throw new IdpError('user_required');
      if ((personInput.user.status ?? 'invited') !== 'invited') throw new IdpError('user_not_invited');
      const client = await checked(input, personInput);
      const personId = idFor(personInput.id);
      const userId = idFor(personInput.user.id);
      const row = rowFor(input, client, { personId, userId });
      const { release } = await settling.announce({ id: row.id, ...(input.send && { serial: 1 }) });
      const invitation = await insert(row);
      try {
        const given = { ...personInput, id: personId, user: { ...personInput.user, id: userId } };
        const person = await personsOf(onBehalf(context, invitation)).create(given, openInvitation(invitation));
        release();
        return { person: person as PersonWithUser, invitation: viewOf(invitation) };
      } catch (error) {
        // Of a person that is there after all, it is the one that counts.
        if (!(await isNamed(personId, invitation.id))) await rows.remove(invitation.id).catch(() => undefined);
        throw error;
      }
    },

    async get(id) {
      const row = await rows.get(id);
      return row && (await isWhole(row)) ? viewOf(row) : undefined;
    },
    require: async (id) => viewOf(await requireRow(id)),

    async list({ status, personId, userId, limit = 50, after } = {}) {
      if (!Number.isInteger(limit) || limit < 1 || limit > 200)
        throw new IdpError('invalid_record', { path: '/limit', expected: 'a number, 1 to 200' });
      const [index, values] = lookUpOf({ status, personId, userId });
      const fits = (view: InvitationView) =>
        (status === undefined || view.status === status) &&
        (personId === undefined || view.personId === personId) &&
        (userId === undefined || view.userId === userId);
      const items: InvitationView[] = [];
      for (let last = after === undefined ? undefined : idOfCursor(after); ; ) {
        const page = await rows.find(index, values, { limit: PAGE, ...(last === undefined ? {} : { after: last }) });
        for (const row of page) {
          const view = viewOf(row);
          if (!fits(view) || !(await isWhole(row))) continue;
          if (items.length === limit) return { items, next: cursorOf(items.at(-1)?.id ?? '') };
          items.push(view);
        }
        last = page.at(-1)?.id;
        if (page.length < PAGE) return { items };
      }
    },

    async resend(id) {
      const row = await requireRow(id);
      const person = await personRows.get(row.personId);
      checkSending(person ?? {});
      const serial = (person?.user?.invitation?.serial ?? 0) + 1;
      const { release } = await settling.announce({ id, serial });
      await change(row, (open, current) => {
        checkSending(current);
        // Somebody else resends it at the same time: theirs is as good.
        if (open.serial >= serial) return current;
        return {
          ...current,
          user: { ...current.user, invitation: { id, serial, expiresAt: expiry(), send: true } },
          updatedAt: new Date(),
        };
      });
      release();
      return shown(id);
    },

    async revoke(id) {
      const row = await requireRow(id);
      if (row.status === 'revoked') return viewOf(row);
      await settling.announce({ id });
      await change(row, (_, current) => {
        const { invitation, ...user } = current.user;
        const event = pendingEvent('InvitationRevoked', tid, { AggregateId: id, UserId: user.id });
        return withEvents({ ...current, user, updatedAt: new Date() }, event);
      });
      return shown(id);
    },

    async link(id) {
      const row = await requireRow(id);
      const { user } = await change(row, (open, current) => {
        if (open.expiresAt.getTime() <= Date.now()) throw new IdpError('invitation_over');
        const invitation = { ...open, isFetched: true as const };
        const event = pendingEvent('InvitationLinkFetched', tid, { AggregateId: id, UserId: current.user.id });
        return withEvents({ ...current, user: { ...current.user, invitation }, updatedAt: new Date() }, event);
      });
      const { serial = 1, expiresAt = row.expiresAt } = user.invitation ?? {};
      return { url: rules.urlOf(links.tokenOf({ id, serial })), expiresAt };
    },
  };

  async function isNamed(personId: string, invitationId: string): Promise<boolean> {
    const person: Person | undefined = await personRows.get(personId);
    return person?.user?.invitation?.id === invitationId;
  }
}

function viewOf({ clientName: _, ...row }: Invitation): InvitationView {
  const isExpired = row.status === 'pending' && row.expiresAt.getTime() <= Date.now();
  return { ...row, status: isExpired ? 'expired' : row.status };
}

const cursorOf = (id: string): string => Buffer.from(id).toString('base64url');

function idOfCursor(cursor: string): string {
  const id = Buffer.from(cursor, 'base64url').toString();
  if (cursorOf(id) !== cursor) throw new IdpError('invalid_cursor');
  return id;
}
