import { type Static, Type } from '@sinclair/typebox';
import { withLeftOut } from '../../store/records/left-out.js';
import type { Invitation, Person } from '../../store/records/records.js';
import { inputSchema } from '../../text/schemas.js';
import type { DirectoryContext } from '../context.js';
import { createList, creationQuery, inOrder, type Listed, ofStatus } from '../lists/list.js';
import type { TenantScope } from '../tenants/tenant-scope.js';
import { isExpired } from './invitation-state.js';

const invitationQuery = {
  ...creationQuery,
  status: Type.Optional(Type.Union([Type.Literal('pending'), Type.Literal('accepted'), Type.Literal('revoked'), Type.Literal('expired')])),
  personId: Type.Optional(Type.String()),
  userId: Type.Optional(Type.String()),
};
export const invitationQuerySchema = inputSchema(invitationQuery);
/** @interface */
export type InvitationQuery = Static<typeof invitationQuerySchema>;

/** An invitation as it is now. */
export type InvitationView = Omit<Invitation, 'status' | 'clientName'> & { readonly status: Invitation['status'] | 'expired' };

/**
 * Returns an invitation with its present state. The status of its row stays `pending` until the row is updated, even after the invitation
 * has expired.
 * @param now milliseconds since the epoch, by the time that all nodes share
 */
export function viewOf({ clientName: _, ...row }: Invitation, now: number): InvitationView {
  return { ...row, status: row.status === 'pending' && isExpired(row, now) ? 'expired' : row.status };
}

/**
 * Returns a JSON Pointer to the missing reference of an invitation: its person does not exist, or has another user. Undefined for an
 * invitation that has both its person and its user.
 */
export function missingReference({ tid, personId, userId }: Invitation, person: Person | undefined): string | undefined {
  if (person?.tid !== tid || person.id !== personId) return '/personId';
  return person.user?.id === userId ? undefined : '/userId';
}

/** @param problemOf returns a JSON Pointer to the missing reference of an invitation */
export function createInvitationList(
  context: DirectoryContext,
  rows: TenantScope<Invitation>,
  tid: string,
  problemOf: (row: Invitation) => Promise<string | undefined>,
): (query?: InvitationQuery) => Promise<Listed<InvitationView>> {
  const fits = (row: Invitation, { status, personId, userId }: InvitationQuery): boolean =>
    (status === undefined || viewOf(row, context.now()).status === status) &&
    (personId === undefined || row.personId === personId) &&
    (userId === undefined || row.userId === userId);
  const list = createList<Invitation, InvitationQuery>(context, {
    collection: 'invitations',
    tid,
    properties: invitationQuery,
    range: rows.range,
    along: ({ status }) => (status === undefined ? inOrder : ofStatus(status === 'expired' ? 'pending' : status)),
    lookUp({ personId, userId }) {
      if (personId !== undefined) return rows.find('byPerson', [personId]);
      return userId === undefined ? undefined : rows.find('byUser', [userId]);
    },
    fits,
    async sift(page, query) {
      const fitting = page.filter((row) => fits(row, query));
      const problems = await Promise.all(fitting.map(problemOf));
      return withLeftOut(
        fitting.filter((_, index) => problems[index] === undefined),
        fitting.flatMap(({ id, tid }, index) => ({ id, tid, path: problems[index] ?? '' })).filter(({ path }) => path !== ''),
      );
    },
  });
  return async (query) => {
    const { items, ...rest } = await list(query);
    return { items: items.map((row) => viewOf(row, context.now())), ...rest };
  };
}
