import { recordForms, type Tenant } from '../../../lib/extension-door.js';
import { crud } from './shape/crud.js';
import { itemOf } from './shape/forms.js';

export const subsidiaries = crud<Pick<Tenant, 'id' | 'version' | 'name'>>({
  name: 'subsidiaries',
  noun: 'a subsidiary',
  path: '/tenants/{tid}/subsidiaries',
  item: itemOf('Subsidiary', recordForms.subsidiary),
  query: recordForms.lists.names,
  form: recordForms.subsidiary,
  changeable: recordForms.subsidiary,
  isRemovable: true,
  service: ({ directory, params }) => directory.forTenant(params.tid as string).subsidiaries,
});
