import { isDeepStrictEqual } from 'node:util';
import {
  type Directory,
  defineOperation,
  IdpError,
  type PersonWithUser,
  pageOf,
  recordForms,
  type Static,
  Type,
  type User,
  writeJudged,
} from '../../../lib/extension-door.js';
import { checkEmailVerified, checkMayBecome, checkUserId, mayEndLink } from '../privileges.js';
import { type Confirmation, confirm, type MeansChecks } from './means.js';
import { crud } from './shape/crud.js';
import { filled, form } from './shape/forms.js';
import { checkGroups, checkGroupsOfNewUser, newUserForm, userForm, userItem, userView } from './shape/user-forms.js';

const USER = '/tenants/{tid}/users/{id}';
const write = { scope: 'idp.users:write' } as const;

/** A user, which is found by its own id and changed in the document of its person. */
interface UserRow extends PersonWithUser {}

const ended = (verb: 'disable' | 'sign-out', summary: string) =>
  defineOperation({
    ...write,
    method: 'POST',
    path: `/tenants/{tid}/users/{id}/${verb}`,
    summary,
    answer: userItem,
    async handle({ params, directory }) {
      const { users } = directory.forTenant(params.tid);
      return userView(await (verb === 'sign-out' ? users.signOutEverywhere : users.disable)(params.id));
    },
  });

/** Members that decide which sign-ins open the account. The user name is one of them, because a sign-in method of a host may use it. */
const signsIn = ['userName', 'externalIdentities'] as const satisfies readonly (keyof User)[];

const { items, unreadable } = pageOf(form({ id: Type.String(), name: Type.String() })).properties;
const GroupList = Type.Object({ items, unreadable }, { $id: 'GroupsOfUser', additionalProperties: false });

/** Groups that a user gets. */
const grant = form({ ...recordForms.groupRefs.properties, confirm });

/** The change that each method makes to the groups of a user. */
const changes = { PUT: 'replace', POST: 'add', DELETE: 'remove' } as const;

/** @see service specification 4.12, 3 */
const regrouped = (
  means: Pick<MeansChecks, 'ofUser'>,
  method: 'PUT' | 'POST' | 'DELETE',
  service: 'setGroups' | 'addGroups' | 'removeGroups',
  summary: string,
) =>
  defineOperation({
    ...write,
    method,
    path: `${USER}/groups`,
    summary,
    body: method === 'DELETE' ? recordForms.groupRefs : grant,
    answer: GroupList,
    errors: [
      'group_refs_mixed',
      'group_unknown',
      'grant_exceeds_own',
      ...(method === 'DELETE' ? [] : ['all_tenants_required', 'means_unconfirmed']),
    ],
    async handle(request) {
      const { params, directory } = request;
      const { confirm: isConfirmed = false, ...body } = request.body as Static<typeof grant>;
      const { users: all } = directory.forTenant(params.tid);
      let confirmMeans: Confirmation | undefined;
      const changed = await writeJudged(
        await all.require(params.id),
        async (person) => {
          confirmMeans = await checkGroups(request as never, body, { person, change: changes[method], means, isConfirmed });
        },
        (check) => all[service](params.id, body, check),
      );
      await confirmMeans?.();
      return groupsOf(directory, changed);
    },
  });

/** Returns the groups of a user that exist. A removed group leaves its id with its users, so only unreadable groups are named as left out. */
async function groupsOf(directory: Directory, person: PersonWithUser) {
  // Groups are read one by one, because the cache of memberships may not have a group yet that was repaired in the store.
  const stored = await directory.forTenant(person.tid).groups.findMany({ ids: person.user.groupIds });
  const groups = stored.filter((group) => group !== undefined);
  const groupIds = new Set(groups.map(({ id }) => id));
  const others = person.user.groupIds.filter((id) => !groupIds.has(id));
  const unreadable = await Promise.all(others.map((id) => directory.unreadable({ collection: 'groups', id })));
  const leftOut = unreadable.flatMap((row) => (row?.tid === person.tid ? [{ id: row.id, path: row.path }] : []));
  return { items: groups.map(({ id, name }) => ({ id, name })), ...(leftOut.length > 0 && { unreadable: leftOut }) };
}

/** A new user, whose groups may need the confirmation of the person's address. */
const grantedUser = form({ ...newUserForm.properties, confirm });

const ofUsers = crud<UserRow>({
  name: 'users',
  noun: 'a user',
  path: '/tenants/{tid}/users',
  record: { collection: 'persons', index: 'byUser', pointer: '/user' },
  item: userItem,
  view: userView,
  query: recordForms.lists.users,
  changeable: userForm,
  errors: ['user_name_taken', 'grant_exceeds_own', 'email_unproven'],
  isRemovable: true,
  removeErrors: ['grant_exceeds_own'],
  service(request) {
    const all = request.directory.forTenant(request.params.tid as string).users;
    return { ...all, remove: (id: string) => all.remove(id, mayEndLink(request)) };
  },
  async guard(request, person, members) {
    checkEmailVerified(request, members, person?.user);
    if (!person) return;
    const before = userView(person);
    const isChanged = signsIn.some((name) => name in members && !isDeepStrictEqual(members[name], before[name]));
    if (isChanged) await checkMayBecome(request, person);
  },
});

const newUser = (means: Pick<MeansChecks, 'ofNewUser'>) =>
  defineOperation({
    ...write,
    method: 'POST',
    path: '/tenants/{tid}/persons/{id}/user',
    summary: 'Creates an invited user for a person',
    body: grantedUser,
    answer: userItem,
    status: 201,
    errors: [
      ...['person_has_user', 'user_name_taken', 'group_unknown', 'group_refs_mixed'],
      ...['grant_exceeds_own', 'all_tenants_required', 'email_unproven', 'conflict', 'means_unconfirmed'],
    ],
    location: (answer, { tid }) => filled(USER, { tid, id: answer.id }),
    async handle(request) {
      const { params, directory, isRetry, newId } = request;
      const { confirm: isConfirmed = false, ...body } = request.body as Static<typeof newUserForm> & { readonly confirm?: boolean };
      const { users: all, persons } = directory.forTenant(params.tid);
      checkUserId(request, body, '/id');
      checkEmailVerified(request, body);
      const person = await persons.get(params.id);
      if (!person) throw new IdpError('not_found');
      const groupIds = await checkGroupsOfNewUser(request as never, body.groups as never);
      const granted = await directory.privileges.ofGroupIds({ tid: params.tid, groupIds });
      const confirmMeans = await means.ofNewUser(request as never, person, granted, isConfirmed);
      const before = isRetry && body.id === undefined ? await all.get(newId()) : undefined;
      const made = before ?? (await all.create(params.id, { ...body, id: body.id ?? newId() } as never));
      await confirmMeans?.(made);
      return userView(made);
    },
  });

const enabled = defineOperation({
  ...write,
  method: 'POST',
  path: '/tenants/{tid}/users/{id}/enable',
  summary: 'Enables a disabled user, who gets the former status',
  answer: userItem,
  errors: ['grant_exceeds_own'],
  async handle(request) {
    const { users: all } = request.directory.forTenant(request.params.tid);
    return userView(
      await writeJudged(
        await all.require(request.params.id),
        (person) => checkMayBecome(request, person),
        (check) => all.enable(request.params.id, check),
      ),
    );
  },
});

export const users = (means: Pick<MeansChecks, 'ofUser' | 'ofNewUser'>) => [
  ...ofUsers,
  newUser(means),
  ended('disable', 'Disables a user, and ends all sign-ins of the user'),
  enabled,
  ended('sign-out', 'Ends all sign-ins of a user'),
  defineOperation({
    method: 'GET',
    path: `${USER}/groups`,
    scope: 'idp.users:read',
    summary: 'Lists the groups of a user',
    answer: GroupList,
    handle: async ({ params, directory }) => groupsOf(directory, await directory.forTenant(params.tid).users.require(params.id)),
  }),
  regrouped(means, 'PUT', 'setGroups', 'Replaces the groups of a user'),
  regrouped(means, 'POST', 'addGroups', 'Adds a user to groups'),
  regrouped(means, 'DELETE', 'removeGroups', 'Removes a user from groups'),
];
