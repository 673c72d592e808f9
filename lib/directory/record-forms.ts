/** Schemas of record input, for code that derives further schemas, such as the admin API. */
import { personDefaults, personMembers, userMembers } from '../store/records/persons.js';
import { apiResourceInput } from './clients/api-resources.js';
import { clientInput } from './clients/clients.js';
import { groupRefs } from './groups/group-refs.js';
import { groupInput } from './groups/groups.js';
import { permissionInput } from './groups/permissions.js';
import { withDefaults } from './input.js';
import { invitationQuerySchema } from './invitations/invitation-lists.js';
import { invitationInput } from './invitations/invitations.js';
import { listQuerySchema, statusQuerySchema } from './lists/list.js';
import { personQuerySchema, userQuerySchema } from './persons/person-lists.js';
import { userInput } from './persons/user-record.js';
import { subsidiaryInput } from './tenants/subsidiaries.js';
import { tenantInput } from './tenants/tenants.js';

export const recordForms = {
  tenant: tenantInput,
  subsidiary: subsidiaryInput,
  person: withDefaults(personMembers, personDefaults),
  user: userInput,
  invitation: invitationInput,
  group: groupInput,
  groupRefs,
  permission: permissionInput,
  client: clientInput,
  apiResource: apiResourceInput,
  /** Members that callers write, in their stored form: a member with a default is required. */
  members: { person: personMembers, user: userMembers },
  lists: {
    names: listQuerySchema,
    status: statusQuerySchema,
    persons: personQuerySchema,
    users: userQuerySchema,
    invitations: invitationQuerySchema,
  },
};
