/**
 * Sessions: the sign-in of a browser, its grants, and their end.
 *
 * `grants` makes the grant of a sign-in. `logout` is the end-session endpoint, and `logout-notices` notifies clients. `user-sessions` is the service for
 * administrators. `impersonations` handles impersonations. Cookies, and the secret that distinguishes browsers, are in this folder too.
 */
import type { Session } from 'oidc-provider';
import { keyOfMark } from '../../directory/index.js';
import type { ArtifactKey, ArtifactStore, Put, Remove } from '../../store/artifact-store.js';
import { epochSeconds } from '../../times/epoch-seconds.js';
import { nodeTime } from '../../times/node-time.js';
import type { OurSession } from '../accounts/login-context.js';
import { sessionEnd } from '../accounts/session-end.js';
import { keyOf } from '../artifacts/ids.js';
import { isOfEndedSession } from '../artifacts/lost-writes.js';
import { type Aside, type AskedHere, signInMembers } from '../artifacts/session-members.js';
import type { SessionGrant, SessionPayload } from '../artifacts/session-merge.js';
import { textOf } from '../artifacts/short-form.js';
import { readStored } from '../artifacts/stored-records.js';
import type { UnitOfWork } from '../artifacts/unit-of-work.js';
import type { OidcParts } from '../context.js';

/** Returns the remaining seconds of a session: its idle time, or the time to its absolute end. Before a sign-in, the session only carries the request. */
export function sessionTtl({ options: { lifetimes }, now }: Pick<OidcParts, 'options' | 'now'>, session: Session | undefined): number {
  if (!session?.loginTs) return lifetimes.interaction;
  const at = epochSeconds(now());
  const left = sessionEnd(lifetimes, session.loginTs) - at;
  const untilEnd = ((session as OurSession).endsAt ?? Number.POSITIVE_INFINITY) - at;
  // A session that ends before the session is idle is stored beyond its end, because the record names the session that was set aside.
  const idle = untilEnd <= lifetimes.sessionIdle ? Math.max(0, untilEnd) + lifetimes.sessionIdle : lifetimes.sessionIdle;
  return Math.max(1, Math.min(idle, left));
}

/** Commits the writes of a request. A session that ended during the request stays ended. */
export async function commitRequest(unit: UnitOfWork): Promise<void> {
  try {
    await unit.commit();
  } catch (error) {
    if (!isOfEndedSession(error)) throw error;
  }
}

/** Announces the change of a session before the change is made. */
type Announce = (before: SessionPayload, key: ArtifactKey) => Promise<void>;

/** Writes and steps that belong to the change of a session. */
interface WithChange {
  /** Returns further records of the same slot for the same commit. */
  readonly adding?: () => readonly Put[];
  /** Returns further removals for the same commit, from the record before the change. */
  readonly removing?: (before: SessionPayload) => readonly Remove[];
  /** Runs before the commit, and again if a concurrent request was faster. */
  readonly announce?: Announce;
  /** Milliseconds since the epoch until which the record is stored at least. */
  readonly keptUntil?: number;
}

/**
 * Changes a session outside a request to oidc-provider, by compare-and-swap. `change` gets the current record, and may run again. If `change` returns
 * undefined, nothing is changed.
 * @returns the record before the change; undefined if the session has ended, is damaged, or was not changed.
 */
export async function changeSession(
  artifacts: ArtifactStore,
  key: ArtifactKey | undefined,
  change: (session: SessionPayload) => SessionPayload | undefined,
  { adding, removing, announce, keptUntil = 0 }: WithChange = {},
): Promise<SessionPayload | undefined> {
  if (!key) return undefined;
  for (;;) {
    const artifact = (await artifacts.read([{ key }])).get(key);
    if (!artifact) return undefined;
    const { version, account: _account, ...record } = artifact;
    const before = readStored<SessionPayload>('Session', artifact);
    if (!before) return undefined;
    const after = change(before);
    if (!after) return undefined;
    await announce?.(before, key);
    const put = {
      ...record,
      op: 'put',
      value: textOf('Session', after),
      expiresAt: Math.max(record.expiresAt, keptUntil),
      ...(after.accountId ? { account: after.accountId } : {}),
      if: { version },
    } as const;
    const { ok } = await artifacts.commit([put, ...(adding?.() ?? []), ...(removing?.(before) ?? [])]);
    if (ok) return before;
  }
}

/** Returns whether the session still has the sign-in that a request found. Another sign-in, or a sign-out, may have come between. */
export const isSameSignIn = (now: SessionPayload, found: Pick<OurSession, 'accountId' | 'loginTs'>): boolean =>
  now.accountId === found.accountId && now.loginTs === found.loginTs;

/**
 * Ends the sign-in of a session, all its grants, and the requests that the user made in the sign-in. Grants that concurrent requests add are ended as well,
 * or not written.
 * @param applies whether the current session is the session to end.
 * @param isSwitch whether another account signs in to the session. Requests with `survivesSwitch` stay then.
 * @returns the session before its end; undefined if there is no session to end.
 */
export const endSignIn = (
  artifacts: ArtifactStore,
  key: ArtifactKey | undefined,
  announce: Announce,
  applies: (session: SessionPayload) => boolean = () => true,
  isSwitch = false,
): Promise<SessionPayload | undefined> =>
  changeSession(artifacts, key, (session) => (applies(session) ? signedOut(session, isSwitch) : undefined), {
    removing: (session) => [
      ...removalsOf(session.grants ?? []),
      ...removalsOfAsked(askedIn(session).filter((one) => !isSwitch || !one.survivesSwitch)),
    ],
    announce,
  });

/** Returns the writes that end grants. Each tombstone lasts until the grant would have ended by itself. */
export const removalsOf = (grants: readonly SessionGrant[]): readonly Remove[] =>
  grants.flatMap(({ grantId, exp }) => {
    const key = keyOf('Grant', grantId);
    return key ? [{ op: 'remove', key, until: exp * 1000 }] : [];
  });

/** Returns the requests that the user made in the sign-in of the session, the newest last. */
export const askedIn = ({ asked }: SessionPayload): readonly AskedHere[] => (asked as readonly AskedHere[] | undefined) ?? [];

/** Milliseconds for which a mark that was removed stays removed. No mark is put twice, so that the time only has to outlast a slow write. */
const MARK_REMOVED_MS = 60_000;

/** Returns the writes that end requests. */
export const removalsOfAsked = (asked: readonly AskedHere[]): readonly Remove[] =>
  asked.flatMap(({ mark }) => {
    const key = keyOfMark(mark);
    return key ? [{ op: 'remove', key, until: nodeTime() + MARK_REMOVED_MS }] : [];
  });

/** Ends a session by {@link endSignIn}, and then the session that was set aside for it. @returns the sessions that ended, before their end */
export async function endWithAside(
  artifacts: ArtifactStore,
  uid: string,
  announce: Announce,
  isSwitch = false,
): Promise<readonly { readonly before: SessionPayload; readonly key: ArtifactKey }[]> {
  const key = keyOf('Session', uid);
  const before = await endSignIn(artifacts, key, announce, undefined, isSwitch);
  if (!before || !key) return [];
  const { aside } = before as { readonly aside?: Aside };
  if (!aside) return [{ before, key }];
  const others = await endWithAside(artifacts, aside.uid, announce);
  await changeSession(artifacts, key, ({ aside: _, ...rest }) => rest);
  return [{ before, key }, ...others];
}

/** Returns the session without its sign-in. The session that was set aside stays, because it replaces the ended session. */
function signedOut(session: SessionPayload, isSwitch: boolean): SessionPayload {
  const { accountId: _, loginTs, amr, acr, authorizations, grants, asked: __, ...rest } = session;
  for (const member of signInMembers) delete rest[member];
  const left = isSwitch ? askedIn(session).filter(({ survivesSwitch }) => survivesSwitch) : [];
  return left.length > 0 ? { ...rest, asked: left } : rest;
}
