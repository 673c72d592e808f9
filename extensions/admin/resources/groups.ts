import { recordForms, Type } from '../../../lib/extension-door.js';
import { checkGroupWrite, checkTaking, type GroupMembers } from '../privileges.js';
import { crud } from './shape/crud.js';
import { itemOf } from './shape/forms.js';

interface Group extends GroupMembers {
  readonly id: string;
  readonly version: number;
}

const always = ['permissionIds'];

export const groups = crud<Group>({
  name: 'groups',
  noun: 'a group',
  path: '/tenants/{tid}/groups',
  // A group that has more permissions than a request may name is shown with all of them.
  item: itemOf('Group', recordForms.group, always, { permissionIds: Type.Array(Type.String()) }),
  query: recordForms.lists.names,
  form: recordForms.group,
  changeable: recordForms.group,
  always,
  errors: ['permission_unknown', 'all_tenants_required', 'grant_exceeds_own'],
  isRemovable: true,
  removeErrors: ['grant_exceeds_own'],
  service: ({ directory, params }) => directory.forTenant(params.tid as string).groups,
  guard(request, group, members) {
    const { name, permissionIds = [] } = { ...group, ...members };
    checkGroupWrite(request, request.params.tid as string, group, { name, permissionIds } as GroupMembers);
  },
  guardRemoval: (request, { id }) => checkTaking(request, { tid: request.params.tid as string, groupIds: [id] }),
});
