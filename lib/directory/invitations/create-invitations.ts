import { IdpError } from '../../errors.js';
import { collections as specs } from '../../store/records/collections.js';
import type { Invitation } from '../../store/records/records.js';
import type { DirectoryContext } from '../context.js';
import { createPersonRows } from '../persons/person-rows.js';
import { createTenantScope } from '../tenants/tenant-scope.js';
import { createInvitationList, missingReference, viewOf } from './invitation-lists.js';
import type { InvitationParts, Invitations } from './invitations.js';
import { createNewInvitations } from './new-invitations.js';
import { createOpenInvitations } from './open-invitations.js';

export function createInvitations(context: DirectoryContext, parts: InvitationParts, tid: string): Invitations {
  const rows = createTenantScope(context.collections.invitations, specs.invitations, tid);
  const personRows = createPersonRows(context, tid);

  const problemOf = async (row: Invitation): Promise<string | undefined> => missingReference(row, await personRows.get(row.personId));

  async function requireRow(id: string): Promise<Invitation> {
    const row = await rows.get(id);
    if (!row || (await problemOf(row)) !== undefined) throw new IdpError('not_found');
    return row;
  }

  const open = createOpenInvitations(context, parts, requireRow, tid);
  return {
    ...createNewInvitations(context, parts, rows, tid),
    ...open,
    async get(id) {
      const row = await rows.get(id);
      return row && (await problemOf(row)) === undefined ? viewOf(row, context.now()) : undefined;
    },
    require: async (id) => viewOf(await requireRow(id), context.now()),
    async remove(id) {
      const row = await rows.get(id);
      if (!row) throw new IdpError('not_found');
      // The person's document decides whether the invitation link works, so the invitation is revoked there before the row is removed. An unreadable
      // record counts as not found after the revocation.
      if (row.status === 'pending' && (await problemOf(row)) === undefined)
        await open.revoke(id).catch(IdpError.unless('invitation_over', 'not_found'));
      await rows.remove(id).catch(IdpError.unless('not_found'));
    },
    list: createInvitationList(context, rows, tid, problemOf),
  };
}
