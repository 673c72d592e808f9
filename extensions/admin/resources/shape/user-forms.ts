/** Users as they are made and answered, within their person and by themselves. */
import { type Person, type PersonWithUser, recordForms, type Static, Type } from '../../../../lib/extension-door.js';
import { checkGrant, checkTaking } from '../../privileges.js';
import type { Confirmation, MeansChecks } from '../means.js';
import type { Request } from './crud.js';
import { instant, without } from './forms.js';

/** Only an invitation that is accepted makes a user active. */
export const newUserForm = without(recordForms.user, 'status');
export const userForm = without(newUserForm, 'id', 'groups');

export const userItem = Type.Object(
  {
    id: Type.String(),
    personId: Type.String(),
    sub: Type.String({ description: 'the parent’s id where the user is linked, else its own' }),
    userName: Type.String(),
    emailVerified: Type.Boolean(),
    provenEmail: Type.Optional(
      Type.String({ description: 'the address that was proven last, while the person has another: mail about the account goes there' }),
    ),
    externalIdentities: Type.Array(Type.Object({ idp: Type.String(), subject: Type.String() }, { additionalProperties: false })),
    status: Type.Union([Type.Literal('invited'), Type.Literal('active'), Type.Literal('disabled')]),
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
  userName: user.userName,
  emailVerified: user.emailVerified,
  ...(user.provenEmail !== undefined && { provenEmail: user.provenEmail }),
  externalIdentities: user.externalIdentities.map(({ idp, subject }) => ({ idp, subject })),
  status: user.status,
  groupIds: [...user.groupIds],
  ...(user.parentUserId !== undefined && { parentUserId: user.parentUserId }),
  isParent: user.isParent,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
});

interface Regrouped {
  readonly person: PersonWithUser;
  readonly change: 'replace' | 'add' | 'remove';
  readonly means: Pick<MeansChecks, 'ofUser'>;
  /** Whether the caller vouches for means that do not cover the privileges of the groups. */
  readonly isConfirmed: boolean;
}

/**
 * The same for a person who gets a user with groups. @returns what confirms the means of the person, after the user is written
 * @throws as {@link checkGroups}
 */
export async function checkGroupsOfNewUser(
  request: Pick<Request, 'directory' | 'params' | 'administrator'>,
  refs: Static<typeof recordForms.groupRefs> | undefined,
  {
    person,
    means,
    isConfirmed,
  }: { readonly person: Person; readonly means: Pick<MeansChecks, 'ofNewUser'>; readonly isConfirmed: boolean },
) {
  await checkGroups(request, refs);
  const { tid = '' } = request.params;
  const groupIds = await givenGroups(request, refs);
  return means.ofNewUser(request, person, await request.directory.privileges.ofGroupIds({ tid, groupIds }), isConfirmed);
}

/** Returns the ids of the groups that exist by these names, and the given ids. */
async function givenGroups(
  { directory, params: { tid = '' } }: Pick<Request, 'directory' | 'params'>,
  { ids = [], names = [] }: Static<typeof recordForms.groupRefs> = {},
): Promise<readonly string[]> {
  const named = await directory.forTenant(tid).groups.findMany({ names: [...new Set(names)] });
  return [...new Set(ids), ...named.flatMap((group) => group?.id ?? [])];
}

/**
 * Compares the difference alone: groups that the user has and keeps are not compared. The service refuses groups that do not exist.
 * @param regrouped absent for a new user
 * @throws IdpError `grant_exceeds_own`, `all_tenants_required` for groups that the administrator may not give to the user, or take from the user;
 * `means_unconfirmed` where somebody may sign in as the user by a means whose writer held less.
 * @returns what confirms these means, after the groups are written
 */
export async function checkGroups(
  request: Pick<Request, 'directory' | 'params' | 'administrator'>,
  refs?: Static<typeof recordForms.groupRefs>,
  regrouped?: Regrouped,
): Promise<Confirmation | undefined> {
  const { person, change } = regrouped ?? {};
  const { tid = '' } = request.params;
  const given = await givenGroups(request, refs);
  const before = person?.user.groupIds ?? [];
  const added = change === 'remove' ? [] : given.filter((id) => !before.includes(id));
  const taken = change === 'add' ? [] : before.filter((id) => given.includes(id) === (change === 'remove'));
  await checkGrant(request, { tid, groupIds: added }, person?.user);
  await checkTaking(request, { tid, groupIds: taken });
  const privileges = await request.directory.privileges.ofGroupIds({ tid, groupIds: added });
  return regrouped?.means.ofUser(request, regrouped.person, privileges, regrouped.isConfirmed);
}
