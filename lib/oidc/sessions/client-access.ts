/**
 * End of the access of one client to the data of one user, in all sessions. The sessions continue, and so do the grants of other clients.
 *
 * The directory requests the end after a consent was withdrawn, and after the user was signed out of a client. A request that read the consent before, and
 * writes its grant later, reads the consent again after the write (`begun-sign-ins`).
 */
import type { ClientCutoff } from '../../directory/index.js';
import type { Artifact, ArtifactKey } from '../../store/artifact-store.js';
import { clientAccessOf } from '../../store/records/extension-artifacts.js';
import { SHARED_APART_SECONDS } from '../../store/times/clock.js';
import type { GrantRecord } from '../accounts/login-context.js';
import { keyOf } from '../artifacts/ids.js';
import type { SessionPayload } from '../artifacts/session-merge.js';
import type { OidcParts } from '../context.js';
import { type Found, type FoundGrant, inGroups, recordsOf, rememberedAs } from './account-records.js';
import { LogoutNotices } from './logout-notices.js';
import { changeSession, removalsOf } from './sessions.js';

/**
 * Ends the grants of a client that were made until the change, and records of extensions for the client. Notifies the client over the back channel. A
 * retried change spares the access that the user has given since.
 */
export async function endOfClient(parts: OidcParts, { oid, clientId, at }: ClientCutoff): Promise<void> {
  const { sessions, grants, others } = await recordsOf(parts, oid);
  // The consent is read after the list. A grant in the list that names another consent is therefore a grant of a withdrawn consent.
  const consents = await parts.directory.consents.find(oid);
  const current = consents.find((consent) => consent.clientId === clientId)?.createdAt.getTime();
  const latest = at / 1000 + SHARED_APART_SECONDS;
  const ends = ({ consent, iat = 0 }: GrantRecord): boolean => (consent === undefined ? iat <= latest : consent !== current);
  const ended = grants.filter(({ grant }) => grant.clientId === clientId && ends(grant));
  const endedToo = others.filter((artifact) => {
    const access = clientAccessOf(artifact);
    return access?.clientId === clientId && access.since / 1000 <= latest;
  });
  await endGrants(parts, { keys: new Set(ended.map(({ key }) => key)), sessions, ended, endedToo });
}

/** Returns the times at which a client got access to the data of an account, in milliseconds since the epoch. */
export const accessTimesOf = async (
  parts: OidcParts,
  { oid, clientId }: Pick<ClientCutoff, 'oid' | 'clientId'>,
): Promise<readonly number[]> => {
  const { grants, others } = await recordsOf(parts, oid);
  const accesses = others.map(clientAccessOf).filter((access) => access?.clientId === clientId);
  return [
    ...grants.flatMap(({ grant }) => (grant.clientId === clientId ? [(grant.iat ?? 0) * 1000] : [])),
    ...accesses.map((access) => access?.since ?? 0),
  ];
};

/** Ends one grant of an account, and notifies its client. The session forgets the grant even if a withdrawal has ended the grant before. */
export async function endGrant(parts: OidcParts, oid: string, key: ArtifactKey): Promise<void> {
  const { sessions, grants } = await recordsOf(parts, oid);
  await endGrants(parts, { keys: new Set([key]), sessions, ended: grants.filter((one) => one.key === key), endedToo: [] });
}

interface Ending {
  /** Store keys of the grants. */
  readonly keys: ReadonlySet<ArtifactKey>;
  /** Sessions that may remember the grants. */
  readonly sessions: readonly Found[];
  /** The grants that are live. */
  readonly ended: readonly FoundGrant[];
  /** Other records that end. */
  readonly endedToo: readonly Artifact[];
}

/** Ends grants, and other records with them. A session that remembers one of the grants forgets the grant in the same commit. */
async function endGrants(parts: OidcParts, { keys, sessions, ended, endedToo }: Ending): Promise<void> {
  const { artifacts } = parts;
  const isEnded: IsEnded = (grantId) => {
    const key = grantId === undefined ? undefined : keyOf('Grant', grantId);
    return key !== undefined && keys.has(key);
  };
  const remembering = sessions.filter(({ session }) => hasGrant(session, isEnded));
  const notices = new LogoutNotices(parts);
  await inGroups(remembering, ({ key }) =>
    changeSession(artifacts, key, (session) => (hasGrant(session, isEnded) ? without(session, isEnded) : undefined), {
      removing: (before) => removalsOf(grantsOf(before, isEnded)),
      announce: (before) => notices.enqueue({ grants: grantsOf(before, isEnded) }),
    }),
  );
  await notices.enqueue({ grants: ended.flatMap(({ grant, expiresAt }) => rememberedAs(grant, expiresAt)) });
  await inGroups([...ended, ...endedToo], ({ key, expiresAt }) => artifacts.commit([{ op: 'remove', key, until: expiresAt }]));
  notices.release();
}

type IsEnded = (grantId: string | undefined) => boolean;

const grantsOf = ({ grants = [] }: SessionPayload, isEnded: IsEnded) => grants.filter(({ grantId }) => isEnded(grantId));

const hasGrant = (session: SessionPayload, isEnded: IsEnded): boolean =>
  grantsOf(session, isEnded).length > 0 || Object.values(session.authorizations ?? {}).some(({ grantId }) => isEnded(grantId));

/** Returns the session without grants that have ended. The next grant of the client gets another `sid`. */
function without(session: SessionPayload, isEnded: IsEnded): SessionPayload {
  const { grants = [], authorizations = {} } = session;
  return {
    ...session,
    grants: grants.filter(({ grantId }) => !isEnded(grantId)),
    authorizations: Object.fromEntries(Object.entries(authorizations).filter(([, { grantId }]) => !isEnded(grantId))),
  };
}
