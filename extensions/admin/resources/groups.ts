import { type Group, recordForms, Type } from '../../../lib/extension-door.js';
import { checkGroupWrite, checkTaking, type GroupMembers } from '../privileges.js';
import { confirm, type MeansChecks } from './means.js';
import { crud } from './shape/crud.js';
import { form, itemOf } from './shape/forms.js';

const always = ['permissionIds'];
const changeable = form({ ...recordForms.group.properties, confirm });

export const groups = (means: Pick<MeansChecks, 'ofGroup'>) =>
  crud<Group>({
    name: 'groups',
    noun: 'a group',
    path: '/tenants/{tid}/groups',
    // A group that has more permissions than a request may name is shown with all of them.
    item: itemOf('Group', recordForms.group, always, { permissionIds: Type.Array(Type.String()) }),
    query: recordForms.lists.names,
    form: recordForms.group,
    changeable,
    always: [...always, 'confirm'],
    errors: ['permission_unknown', 'all_tenants_required', 'grant_exceeds_own', 'means_unconfirmed'],
    isRemovable: true,
    removeErrors: ['grant_exceeds_own'],
    service: ({ directory, params }) => directory.forTenant(params.tid as string).groups,
    async guard(request, group, { confirm: isConfirmed = false, ...members }) {
      const after = { permissionIds: [], ...group, ...members } as unknown as GroupMembers;
      checkGroupWrite(request, request.params.tid as string, group, after);
      if (!group) return undefined;
      const added = after.permissionIds.filter((id) => !group.permissionIds.includes(id));
      const isGrant = request.directory.privileges.ofGroups([{ tid: group.tid, permissionIds: added }]).length > 0;
      // A confirmation may come without a grant.
      if (!isGrant && isConfirmed !== true) return undefined;
      return { follow: await means.ofGroup(request, group, after.permissionIds, isConfirmed === true) };
    },
    guardRemoval: (request, { id }) => checkTaking(request, { tid: request.params.tid as string, groupIds: [id] }),
  });
