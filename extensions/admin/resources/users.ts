import { type Directory, defineOperation, type PersonWithUser, recordForms, Type } from '../../../lib/extension-door.js';
import { checkHolds } from '../privileges.js';
import { crud } from './shape/crud.js';
import { filled, form } from './shape/forms.js';
import { checkGroups, newUserForm, userForm, userItem, userView } from './shape/user-forms.js';

const USER = '/tenants/{tid}/users/{id}';
const write = { scope: 'idp.users:write' } as const;

/** A user is found by its own id, and changed in the document of its person. */
interface UserRow extends PersonWithUser {}

const switched = (verb: 'disable' | 'enable' | 'sign-out', summary: string) =>
  defineOperation({
    ...write,
    method: 'POST',
    path: `/tenants/{tid}/users/{id}/${verb}`,
    summary,
    answer: userItem,
    async handle({ params, directory }) {
      const { users } = directory.forTenant(params.tid);
      return userView(await (verb === 'sign-out' ? users.signOutEverywhere : users[verb])(params.id));
    },
  });

const GroupList = Type.Object(
  { items: Type.Array(form({ id: Type.String(), name: Type.String() })) },
  { $id: 'GroupsOfUser', additionalProperties: false },
);

/** @see service specification 4.12, 3 */
const regrouped = (method: 'PUT' | 'POST' | 'DELETE', service: 'setGroups' | 'addGroups' | 'removeGroups', summary: string) =>
  defineOperation({
    ...write,
    method,
    path: `${USER}/groups`,
    summary,
    body: recordForms.groupRefs,
    answer: GroupList,
    errors: ['group_refs_mixed', 'group_unknown', ...(method === 'DELETE' ? [] : ['grant_exceeds_own'])],
    async handle(request) {
      const { params, body, directory } = request;
      const tenant = directory.forTenant(params.tid);
      await tenant.users.require(params.id);
      if (method !== 'DELETE') await checkGroups(request as never, body);
      return groupsOf(directory, await tenant.users[service](params.id, body));
    },
  });

async function groupsOf({ accounts }: Directory, person: PersonWithUser) {
  const groups = await accounts.groups(person);
  return { items: groups.map(({ id, name }) => ({ id, name })) };
}

export const users = [
  ...crud<UserRow>({
    name: 'users',
    noun: 'a user',
    path: '/tenants/{tid}/users',
    item: userItem,
    view: userView,
    query: recordForms.lists.users,
    changeable: userForm,
    always: ['emailVerified', 'externalIdentities'],
    errors: ['user_name_taken', 'grant_exceeds_own'],
    isRemovable: true,
    service: ({ directory, params }) => directory.forTenant(params.tid as string).users,
    // An identity of somebody's own would sign them in as the user.
    async guard(request, person, members) {
      if (person && 'externalIdentities' in members) checkHolds(request, await request.directory.accounts.privileges(person));
    },
  }),
  defineOperation({
    ...write,
    method: 'POST',
    path: '/tenants/{tid}/persons/{id}/user',
    summary: 'Gives a person a user, who is invited',
    body: newUserForm,
    answer: userItem,
    status: 201,
    errors: ['person_has_user', 'user_name_taken', 'group_unknown', 'group_refs_mixed', 'grant_exceeds_own', 'conflict'],
    location: (answer, { tid }) => filled(USER, { tid, id: answer.id }),
    async handle(request) {
      const { params, body, directory, isRetry, newId } = request;
      const { users: all } = directory.forTenant(params.tid);
      await checkGroups(request as never, body.groups as never);
      const before = isRetry && body.id === undefined ? await all.get(newId()) : undefined;
      return userView(before ?? (await all.create(params.id, { ...body, id: body.id ?? newId() } as never)));
    },
  }),
  switched('disable', 'Ends every sign-in of a user, and allows no other'),
  switched('enable', 'Gives a disabled user the status from before'),
  switched('sign-out', 'Ends every sign-in of a user'),
  defineOperation({
    method: 'GET',
    path: `${USER}/groups`,
    scope: 'idp.users:read',
    summary: 'Lists the groups of a user',
    answer: GroupList,
    handle: async ({ params, directory }) => groupsOf(directory, await directory.forTenant(params.tid).users.require(params.id)),
  }),
  regrouped('PUT', 'setGroups', 'Makes these the groups of a user'),
  regrouped('POST', 'addGroups', 'Adds a user to groups'),
  regrouped('DELETE', 'removeGroups', 'Takes a user out of groups'),
];
