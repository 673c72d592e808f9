import { recordForms } from '../../../lib/extension-door.js';
import { checkPermissionsOfGroup, checkTaking } from '../privileges.js';
import { crud } from './shape/crud.js';
import { itemOf } from './shape/forms.js';

interface Group {
  readonly id: string;
  readonly version: number;
  readonly permissionIds: readonly string[];
}

const always = ['permissionIds'];

export const groups = crud<Group>({
  name: 'groups',
  noun: 'a group',
  path: '/tenants/{tid}/groups',
  item: itemOf('Group', recordForms.group, always),
  query: recordForms.lists.names,
  form: recordForms.group,
  changeable: recordForms.group,
  always,
  errors: ['permission_unknown', 'all_tenants_required', 'grant_exceeds_own'],
  isRemovable: true,
  removeErrors: ['grant_exceeds_own'],
  service: ({ directory, params }) => directory.forTenant(params.tid as string).groups,
  guard(request, group, { permissionIds = group?.permissionIds ?? [] }) {
    checkPermissionsOfGroup(request, request.params.tid as string, group?.permissionIds ?? [], permissionIds as readonly string[]);
  },
  guardRemoval: (request, { id }) => checkTaking(request, { tid: request.params.tid as string, groupIds: [id] }),
});
