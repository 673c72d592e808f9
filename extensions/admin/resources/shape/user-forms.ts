/** Users as they are made and answered, within their person and by themselves. */
import { type PersonWithUser, recordForms, type Static, Type } from '../../../../lib/extension-door.js';
import { checkHolds } from '../../privileges.js';
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
  externalIdentities: user.externalIdentities.map(({ idp, subject }) => ({ idp, subject })),
  status: user.status,
  groupIds: [...user.groupIds],
  ...(user.parentUserId !== undefined && { parentUserId: user.parentUserId }),
  isParent: user.isParent,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
});

/** @throws IdpError `grant_exceeds_own` for groups that allow what the administrator may not do. Groups that there are not, the service refuses. */
export async function checkGroups(
  request: Pick<Request, 'directory' | 'params' | 'administrator'>,
  refs: Static<typeof recordForms.groupRefs> | undefined,
): Promise<void> {
  const { groups } = request.directory.forTenant(request.params.tid as string);
  const found = await Promise.all([...(refs?.ids ?? []).map(groups.get), ...(refs?.names ?? []).map(groups.findByName)]);
  checkHolds(
    request,
    found.flatMap((group) => group?.permissionIds ?? []),
  );
}
