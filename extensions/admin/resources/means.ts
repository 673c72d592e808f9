/**
 * Lists and confirmations of means to sign in that do not cover the privileges of an account, because their writers held less.
 *
 * A confirmation covers the means that the same administrator was shown within the last hour. Otherwise an administrator who holds less could add a means
 * between the list and the confirmation, and the confirming administrator would vouch for it unseen.
 */
import { createHash } from 'node:crypto';
import {
  type ArtifactKind,
  authorityOfClient,
  type Client,
  type ClientMeans,
  defineOperation,
  type ExtensionArtifacts,
  type ExtensionContext,
  type Group,
  isAdminScope,
  meansOfClient,
  type Operation,
  type OperationRequest,
  type Person,
  type PersonWithUser,
  type Privilege,
  Type,
  type UnconfirmedUser,
  type VouchedMeans,
} from '../../../lib/extension-door.js';
import { errors } from '../errors.js';
import { checkMayBecome } from '../privileges.js';
import { form } from './shape/forms.js';

type Request = Pick<OperationRequest<Readonly<Partial<Record<'tid' | 'id', string>>>>, 'administrator' | 'directory' | 'params'>;

const MEANS = '/tenants/{tid}/users/{id}/means';

const Means = Type.Object(
  {
    kind: Type.String({
      description:
        '`invitation`, `reset`, `identity`, `address`, `password`, `factor`, `link` for an account link, or `connection` for the settings of a connection or its mapping to a group.',
    }),
    tid: Type.String(),
    userId: Type.Optional(Type.String()),
    id: Type.Optional(
      Type.String({ description: 'Id of the invitation, the factor, the parent account of the account link, or the connection.' }),
    ),
    idp: Type.Optional(Type.String()),
    subject: Type.Optional(Type.String()),
    address: Type.Optional(Type.String({ description: 'E-mail address of the person, to which the service mails reset links.' })),
  },
  { $id: 'Means', additionalProperties: false },
);
const MeansList = Type.Object(
  { items: Type.Array(Means, { description: 'At most 500 means.' }), total: Type.Integer() },
  { $id: 'MeansOfUser', additionalProperties: false },
);
const listQuery = form({
  groupId: Type.Optional(
    Type.String({
      description:
        'Id of a group. The list then has the means that would not count if the user were also in this group. By default, only the current groups count.',
    }),
  ),
});
const Confirmed = Type.Object(
  {
    items: Type.Array(Means, { description: 'Means that the caller confirmed.' }),
    left: Type.Array(Means, {
      description: 'Means of a user or parent account that may do more in the admin API than the caller. These means stay unconfirmed.',
    }),
    hasMoreElsewhere: Type.Boolean({
      description: 'Whether means of a parent account stay unconfirmed, whose tenant the caller does not administer.',
    }),
  },
  { $id: 'ConfirmedMeans', additionalProperties: false },
);

/** The member of a grant that confirms the means that would prevent the grant. */
export const confirm = Type.Optional(
  Type.Boolean({
    description: 'Whether the caller confirms the means that `409 means_unconfirmed` listed to the same caller within the last hour.',
  }),
);

/** Digests of the means of one user, person, group or client that an administrator was shown, each with the time in milliseconds since the epoch. */
export const listings: ArtifactKind = { name: 'admin.listings', lifetimeSeconds: 3600 };
type Listing = readonly (readonly [digest: string, at: number])[];

/** Maximum means that one answer lists. All means of one user and its parent account fit. */
const MOST_MEANS = 500;
/** Maximum stored digests of one listing. The newest digests stay. */
const MOST_DIGESTS = 20_000;

/** Records that the administrator vouches for the judged means. The caller runs it after the grant is written. */
export type Confirmation = () => Promise<void>;

/** Unconfirmed means of a user, a group, a client or a person. The person is about to get a user, and the group is about to get permissions. */
interface Unconfirmed {
  /** Id of the user, the person, the group or the client. */
  readonly id: string;
  readonly users: readonly UnconfirmedUser[];
  readonly sources?: readonly VouchedMeans[];
  readonly client?: ClientMeans;
}

export interface MeansChecks {
  /**
   * Checks the means of a user who is about to get privileges.
   * @throws IdpError `means_unconfirmed` with the means that do not cover the privileges, unless the administrator was shown these means and confirms them
   */
  ofUser(request: Request, person: PersonWithUser, added: readonly Privilege[], isConfirmed: boolean): Promise<Confirmation | undefined>;
  /** Checks the address of a person who is about to get a user, because the invitation goes there. The confirmation takes the written user. */
  ofNewUser(
    request: Request,
    person: Person,
    privileges: readonly Privilege[],
    isConfirmed: boolean,
  ): Promise<((written: PersonWithUser) => Promise<void>) | undefined>;
  /** Checks a group that is about to have these permissions: the means of its members, and the means that put users into the group. */
  ofGroup(request: Request, group: Group, permissionIds: readonly string[], isConfirmed: boolean): Promise<Confirmation | undefined>;
  /** Checks the secrets and metadata of a client that is about to have these members. @returns whether the caller confirms them */
  ofClient(
    request: Request,
    client: Client,
    after: Pick<Client, 'allowedScopes' | 'trustedLoginHint'>,
    isConfirmed: boolean,
  ): Promise<boolean>;
  readonly operations: readonly Operation[];
}

/** Records of the means that administrators were shown, by which confirmations are checked. */
class Listings {
  readonly #shown: ExtensionArtifacts;
  readonly #now: () => number;

  constructor({ records, service }: Pick<ExtensionContext, 'records' | 'service'>) {
    this.#shown = records.artifact(listings);
    this.#now = service.now;
  }

  /** Records the means that the administrator is shown now, in addition to the earlier means. */
  async list(request: Request, unconfirmed: Unconfirmed, means: readonly Listed[]): Promise<Shown[]> {
    const listed = means.slice(0, MOST_MEANS);
    const digests = new Map(listed.map((one) => [digestOf(one), this.#now()]));
    await this.#shown.update(
      keyOf(request, unconfirmed),
      (value) => [...this.#recent(value).filter(([digest]) => !digests.has(digest)), ...digests].slice(-MOST_DIGESTS),
      { lifetimeSeconds: listings.lifetimeSeconds },
    );
    return shownTo(request, unconfirmed, listed);
  }

  /**
   * @param users the users whose means the administrator confirms. @default all users of `unconfirmed`
   * @throws IdpError `means_unconfirmed`, or `grant_exceeds_own` for a user whom the administrator may not become
   */
  async check(
    request: Request,
    unconfirmed: Unconfirmed,
    isConfirmed: boolean,
    users = unconfirmed.users,
  ): Promise<Confirmation | undefined> {
    const all = meansIn(unconfirmed);
    if (all.length === 0) return undefined;
    if (isConfirmed) for (const { person } of users) await checkMayBecome(request, person);
    const unlisted = isConfirmed ? await this.#unseen(request, unconfirmed) : all;
    if (unlisted.length > 0)
      throw errors('means_unconfirmed', {
        means: await this.list(request, unconfirmed, unlisted),
        total: shownTo(request, unconfirmed).length,
      });
    return () => request.directory.means.confirm(users);
  }

  /** Returns the means that the administrator was not shown within the last hour. */
  async #unseen(request: Request, unconfirmed: Unconfirmed): Promise<readonly Listed[]> {
    const seen = new Set(this.#recent(await this.#shown.read(keyOf(request, unconfirmed))).map(([digest]) => digest));
    return meansIn(unconfirmed).filter((one) => !seen.has(digestOf(one)));
  }

  #recent(value: unknown): Listing {
    return ((value as Listing | undefined) ?? []).filter(([, at]) => at > this.#now() - listings.lifetimeSeconds * 1000);
  }
}

export function createMeansChecks(context: Pick<ExtensionContext, 'records' | 'service'>): MeansChecks {
  const shown = new Listings(context);
  return {
    async ofUser(request, person, added, isConfirmed) {
      if (added.length === 0 && !isConfirmed) return undefined;
      return shown.check(request, { id: person.user.id, users: await request.directory.means.unconfirmed(person, added) }, isConfirmed);
    },

    async ofNewUser(request, person, privileges, isConfirmed) {
      const { means } = request.directory;
      const sources = means.unconfirmedAddress(person, privileges);
      if (!(await shown.check(request, { id: person.id, users: [], sources }, isConfirmed))) return undefined;
      return (written) => {
        const listed = sources.map((one) => ({ ...one, userId: written.user.id }));
        return means.confirm([{ person: written, privileges, means: listed }]);
      };
    },

    ofGroup: (request, group, permissionIds, isConfirmed) => checkGroup(shown, request, group, permissionIds, isConfirmed),

    async ofClient(request, client, { allowedScopes, trustedLoginHint }, isConfirmed) {
      const writers = authorityOfClient(client);
      const isCovered =
        allowedScopes.filter(isAdminScope).every(writers.holds) &&
        (!trustedLoginHint || (await request.directory.privileges.mayTrustHints(writers)));
      if (isCovered) return false;
      await shown.check(request, { id: client.id, users: [], client: meansOfClient(client) }, isConfirmed);
      return true;
    },

    operations: [listOperation(shown), confirmOperation(shown)],
  };
}

async function checkGroup(
  shown: Listings,
  request: Request,
  group: Group,
  permissionIds: readonly string[],
  isConfirmed: boolean,
): Promise<Confirmation | undefined> {
  const { means, privileges } = request.directory;
  const granted = { tid: group.tid, permissionIds };
  const given = privileges.ofGroups([granted]);
  if (given.length === 0) return undefined;
  const sources = await means.unconfirmedSources(group, given);
  const users: UnconfirmedUser[] = [];
  for await (const user of means.unconfirmedMembers(group, given)) users.push(user);
  if (isConfirmed && sources.length > 0 && !privileges.mayTakePermissions(request.administrator, granted))
    throw errors('grant_exceeds_own');
  const ofUsers = await shown.check(request, { id: group.id, users, sources }, isConfirmed);
  return (
    ofUsers &&
    (async () => {
      await means.confirmSources(group, sources, given);
      await ofUsers();
    })
  );
}

const listOperation = (shown: Listings) =>
  defineOperation({
    method: 'GET',
    path: MEANS,
    scope: 'idp.users:read',
    summary:
      'Lists unconfirmed means to sign in as a user or as the parent account, which do not count until an administrator confirms them',
    query: listQuery,
    answer: MeansList,
    async handle(request) {
      const unconfirmed = await unconfirmedOfUser(request, request.query.groupId);
      return { items: await shown.list(request, unconfirmed, meansIn(unconfirmed)), total: shownTo(request, unconfirmed).length };
    },
  });

const confirmOperation = (shown: Listings) =>
  defineOperation({
    method: 'POST',
    path: `${MEANS}/confirm`,
    scope: 'idp.users:write',
    summary: 'Confirms the listed means to sign in as a user or as the parent account, so that these means count',
    answer: Confirmed,
    errors: ['grant_exceeds_own', 'means_unconfirmed'],
    async handle(request) {
      const { administrator, directory } = request;
      const unconfirmed = await unconfirmedOfUser(request);
      // Privileges of the parent account must not prevent a confirmation of the child account's means.
      const isAllowed = await Promise.all(unconfirmed.users.map(({ person }) => directory.privileges.mayBecome(administrator, person)));
      const users = unconfirmed.users.filter((_, index) => isAllowed[index]);
      const left = { ...unconfirmed, users: unconfirmed.users.filter((_, index) => !isAllowed[index]) };
      const confirmation = await shown.check(request, unconfirmed, true, users.length > 0 ? users : unconfirmed.users);
      const hasMoreElsewhere = left.users.some(({ person }) => !administrator.administers(person.tid));
      const items = shownTo(request, { ...unconfirmed, users });
      const answer = await request.remember('answer', () => ({ items, left: shownTo(request, left), hasMoreElsewhere }));
      await confirmation?.();
      return answer;
    },
  });

/** Returns the unconfirmed means of the user in the path. @param groupId a group that the user is about to be in */
async function unconfirmedOfUser({ params, directory }: Request, groupId?: string): Promise<Unconfirmed> {
  const { tid = '', id = '' } = params;
  const added = groupId === undefined ? [] : await directory.privileges.ofGroupIds({ tid, groupIds: [groupId] });
  return { id, users: await directory.means.unconfirmed(await directory.forTenant(tid).users.require(id), added) };
}

/** Returns the store key of the means that an administrator was shown of a record. */
const keyOf = ({ administrator, params }: Request, { id }: Unconfirmed): string => JSON.stringify([administrator.actor, params.tid, id]);

type Shown = Omit<VouchedMeans, 'vouchedBy' | 'revision'>;
type Listed = VouchedMeans | ClientMeans;

const meansIn = ({ users, sources = [], client }: Unconfirmed): readonly Listed[] => [
  ...(client ? [client] : []),
  ...sources,
  ...users.flatMap(({ means }) => means),
];

/** Returns the means that the administrator may see. A parent account may be in a tenant that the administrator does not administer. */
function shownTo({ administrator }: Request, unconfirmed: Unconfirmed, listed?: readonly Listed[]): Shown[] {
  const visible = meansIn({ ...unconfirmed, users: unconfirmed.users.filter(({ person }) => administrator.administers(person.tid)) });
  return visible.filter((one) => listed?.includes(one) ?? true).map(shownOf);
}

/** Returns a means as answers show it. Only answers about a client contain `ClientMeans`. */
const shownOf = ({ vouchedBy: _, revision: __, ...means }: Listed): Shown => means as Shown;

/** Returns the digest of a means with its voucher. */
const digestOf = (means: Listed): string => createHash('sha256').update(JSON.stringify(means)).digest('base64url').slice(0, 22);
