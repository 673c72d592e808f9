/** Operations on means that do not cover the privileges of an account, because their writers held less: list them, and confirm them. */
import {
  defineOperation,
  type Group,
  type OperationRequest,
  type PersonWithUser,
  type Privilege,
  Type,
  type UnconfirmedUser,
} from '../../../lib/extension-door.js';
import { errors } from '../errors.js';
import { checkMayBecome } from '../privileges.js';
import { form } from './shape/forms.js';

type Request = Pick<OperationRequest, 'administrator' | 'directory'>;

const MEANS = '/tenants/{tid}/users/{id}/means';

const Means = form({
  kind: Type.String({ description: '`invitation`, `reset`, `identity`, `address`, or `connection` for a mapping to a group' }),
  tid: Type.String(),
  userId: Type.Optional(Type.String()),
  id: Type.Optional(Type.String({ description: 'of the invitation or the connection' })),
  idp: Type.Optional(Type.String()),
  subject: Type.Optional(Type.String()),
  address: Type.Optional(Type.String({ description: 'of the person, to which reset links are mailed' })),
});
const MeansList = Type.Object({ items: Type.Array(Means) }, { $id: 'MeansOfUser', additionalProperties: false });

/** The member of a grant that confirms the means which the grant would stop. */
export const confirm = Type.Optional(Type.Boolean({ description: 'Vouches for the means that `409 means_unconfirmed` lists' }));

/** The means that the administrator sees: a parent may be of a tenant that it does not administer. */
const shownTo = ({ administrator }: Request, users: readonly UnconfirmedUser[]) =>
  users.filter(({ person }) => administrator.administers(person.tid)).flatMap(({ means }) => means.map((one) => ({ ...one })));

/** Confirms the means of users. @throws IdpError `grant_exceeds_own` for a user whom the administrator may not become. */
async function confirmUsers(request: Request, users: readonly UnconfirmedUser[]): Promise<void> {
  for (const { person } of users) await checkMayBecome(request, person);
  await request.directory.means.confirm(users);
}

/**
 * Looks at the means of a user who is about to get privileges.
 * @throws IdpError `means_unconfirmed` with those that do not cover the privileges, unless they are confirmed
 */
export async function checkMeans(
  request: Request,
  person: PersonWithUser,
  added: readonly Privilege[],
  isConfirmed: boolean,
): Promise<void> {
  if (added.length === 0) return;
  const users = await request.directory.means.unconfirmed(person, added);
  if (users.length === 0) return;
  if (!isConfirmed) throw errors('means_unconfirmed', { means: shownTo(request, users) });
  await confirmUsers(request, users);
}

/** Means that one answer lists, at most. */
const MOST_MEANS = 100;

/**
 * Looks at the means of a group that is about to get these permissions: those of its members, and those that put users into the group.
 * @throws IdpError `means_unconfirmed` with those that do not cover the privileges, unless they are confirmed
 */
export async function checkMeansOfGroup(
  request: Request,
  group: Group,
  permissionIds: readonly string[],
  isConfirmed: boolean,
): Promise<void> {
  const { means, privileges } = request.directory;
  const granted = { tid: group.tid, permissionIds };
  const added = privileges.ofGroups([granted]);
  if (added.length === 0) return;
  const sources = await means.unconfirmedSources(group, added);
  const listed = [...sources];
  let isCovered = sources.length === 0;
  for await (const user of means.unconfirmedMembers(group, added)) {
    isCovered = false;
    if (isConfirmed) await confirmUsers(request, [user]);
    else if (listed.push(...shownTo(request, [user])) >= MOST_MEANS) break;
  }
  if (isConfirmed && sources.length > 0) {
    if (!privileges.mayTakePermissions(request.administrator, granted)) throw errors('grant_exceeds_own');
    await means.confirmSources(group, sources);
  } else if (!isConfirmed && !isCovered) throw errors('means_unconfirmed', { means: listed.slice(0, MOST_MEANS) });
}

export const means = [
  defineOperation({
    method: 'GET',
    path: MEANS,
    scope: 'idp.users:read',
    summary: 'Lists links, identities and addresses of a user, and of its parent, that do not count until somebody confirms them',
    answer: MeansList,
    async handle(request) {
      const { params, directory } = request;
      const users = await directory.means.unconfirmed(await directory.forTenant(params.tid).users.require(params.id));
      return { items: shownTo(request, users) };
    },
  }),
  defineOperation({
    method: 'POST',
    path: `${MEANS}/confirm`,
    scope: 'idp.users:write',
    summary: 'Vouches for the links, identities and addresses of a user, and of its parent, so that they count',
    answer: MeansList,
    errors: ['grant_exceeds_own'],
    async handle(request) {
      const { params, directory } = request;
      const users = await directory.means.unconfirmed(await directory.forTenant(params.tid).users.require(params.id));
      await confirmUsers(request, users);
      return { items: shownTo(request, users) };
    },
  }),
];
