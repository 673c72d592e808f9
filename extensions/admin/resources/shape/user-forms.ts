/** Schemas and views of users, within their person and alone, and the checks of their groups. */
import { instant, knownPart, oneOf, type PersonWithUser, recordForms, type Static, Type } from '../../../../lib/extension-door.js';
import { checkGrant, checkTaking } from '../../privileges.js';
import type { Confirmation, MeansChecks } from '../means.js';
import type { Request } from './crud.js';
import { form, unbounded, viewOf, without } from './forms.js';

/** The form of a new user. The form has no status, because only an accepted invitation makes a user active. */
export const newUserForm = without(recordForms.user, 'status');
export const userForm = form(recordForms.members.user);
/** The members that callers write, as answers have them. */
const writtenForm = form(unbounded(recordForms.members.user));
const written = viewOf<PersonWithUser['user']>(writtenForm);

export const userItem = Type.Object(
  {
    id: Type.String(),
    personId: Type.String(),
    sub: Type.String({ description: 'Id of the parent account if the user is linked, otherwise the id of the user.' }),
    ...writtenForm.properties,
    provenEmail: Type.Optional(
      Type.String({
        description:
          'The address that the user verified last, if the person has another address. The service mails messages about the account to this address.',
      }),
    ),
    status: oneOf(['invited', 'active', 'disabled']),
    groupIds: Type.Array(Type.String()),
    parentUserId: Type.Optional(Type.String()),
    isParent: Type.Boolean(),
    createdAt: instant(),
    updatedAt: instant(),
  },
  { $id: 'User', additionalProperties: false },
);

export const userView = ({ id: personId, user, createdAt, updatedAt }: PersonWithUser): Static<typeof userItem> => ({
  id: user.id,
  personId,
  sub: user.parentUserId ?? user.id,
  ...(knownPart(writtenForm, written(user)) as Static<typeof writtenForm>),
  ...(user.provenEmail !== undefined && { provenEmail: user.provenEmail }),
  status: user.status,
  groupIds: [...user.groupIds],
  ...(user.parentUserId !== undefined && { parentUserId: user.parentUserId }),
  isParent: user.isParent,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
});

type GroupsRequest = Pick<Request, 'directory' | 'params' | 'administrator'>;
type GroupRefs = Static<typeof recordForms.groupRefs>;

interface Regrouped {
  readonly person: PersonWithUser;
  readonly change: 'replace' | 'add' | 'remove';
  readonly means: Pick<MeansChecks, 'ofUser'>;
  /** Whether the caller vouches for means that do not cover the privileges of the groups. */
  readonly isConfirmed: boolean;
}

/** Returns the ids of the groups that exist by these names, and the given ids. */
async function givenGroups(
  { directory, params: { tid = '' } }: GroupsRequest,
  { ids = [], names = [] }: GroupRefs = {},
): Promise<readonly string[]> {
  const named = await directory.forTenant(tid).groups.findMany({ names: [...new Set(names)] });
  return [...new Set(ids), ...named.flatMap((group) => group?.id ?? [])];
}

/**
 * Judges the groups of a new user. The directory refuses unknown groups later.
 * @returns the ids of the groups
 * @throws IdpError `grant_exceeds_own` for groups that the administrator may not give
 */
export async function checkGroupsOfNewUser(request: GroupsRequest, refs: GroupRefs | undefined): Promise<readonly string[]> {
  const { tid = '' } = request.params;
  const groupIds = await givenGroups(request, refs);
  await checkGrant(request, { tid, groupIds });
  return groupIds;
}

/**
 * Judges the groups that a user gets and loses. Groups that the user keeps are not judged. The directory refuses unknown groups later.
 * @throws IdpError `grant_exceeds_own`, `all_tenants_required` for groups that the administrator may not give to the user, or take from the user
 * @throws IdpError `means_unconfirmed` if a means whose writer held less signs in as the user
 * @returns a function that confirms these means. Call the function after the groups are written.
 */
export async function checkGroups(
  request: GroupsRequest,
  refs: GroupRefs,
  { person, change, means, isConfirmed }: Regrouped,
): Promise<Confirmation | undefined> {
  const { tid = '' } = request.params;
  const given = await givenGroups(request, refs);
  const before = person.user.groupIds;
  const added = change === 'remove' ? [] : given.filter((id) => !before.includes(id));
  const taken = change === 'add' ? [] : before.filter((id) => given.includes(id) === (change === 'remove'));
  await checkGrant(request, { tid, groupIds: added }, person.user);
  await checkTaking(request, { tid, groupIds: taken });
  return means.ofUser(request, person, await request.directory.privileges.ofGroupIds({ tid, groupIds: added }), isConfirmed);
}
