import { IdpError } from '../../errors.js';
import { collections as specs } from '../../store/records/collections.js';
import type { Invitation } from '../../store/records/records.js';
import type { DirectoryContext } from '../context.js';
import { createPersonRows } from '../persons/person-rows.js';
import { createTenantScope } from '../tenants/tenant-scope.js';
import { createInvitationList, viewOf } from './invitation-lists.js';
import type { InvitationParts, Invitations } from './invitations.js';
import { createInviting } from './inviting.js';
import { createOpenInvitations } from './open-invitations.js';

export function createInvitations(context: DirectoryContext, parts: InvitationParts, tid: string): Invitations {
  const rows = createTenantScope(context.collections.invitations, specs.invitations, tid);
  const personRows = createPersonRows(context, tid);

  /** Without its person, it is none. */
  const isWhole = async (row: Invitation): Promise<boolean> => (await personRows.get(row.personId))?.user?.id === row.userId;

  async function requireRow(id: string): Promise<Invitation> {
    const row = await rows.get(id);
    if (!row || !(await isWhole(row))) throw new IdpError('not_found');
    return row;
  }

  return {
    ...createInviting(context, parts, rows, tid),
    ...createOpenInvitations(context, parts, requireRow, tid),
    async get(id) {
      const row = await rows.get(id);
      return row && (await isWhole(row)) ? viewOf(row, context.now()) : undefined;
    },
    require: async (id) => viewOf(await requireRow(id), context.now()),
    list: createInvitationList(context, rows, tid, isWhole),
  };
}
