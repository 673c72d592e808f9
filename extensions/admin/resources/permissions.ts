import { recordForms } from '../../../lib/extension-door.js';
import { crud } from './shape/crud.js';
import { itemOf } from './shape/forms.js';

export const permissions = crud({
  name: 'permissions',
  noun: 'a permission',
  path: '/permissions',
  item: itemOf('Permission', recordForms.permission),
  query: recordForms.lists.names,
  form: recordForms.permission,
  changeable: recordForms.permission,
  isRemovable: true,
  service: ({ directory }) => directory.permissions,
});
