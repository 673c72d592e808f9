/**
 * Sessions: who is signed in in a browser, the grants that came of it, and how both end.
 *
 * `grants` makes the grant of a sign-in, `logout` is the end-session endpoint, `logout-notices` tells clients, `user-sessions` is the service for
 * administrators, `impersonations` is about sign-ins as somebody else. Cookies, and the secret that tells browsers apart, are here as well.
 */
import type { Session } from 'oidc-provider';
import type { ArtifactKey, ArtifactStore, Remove } from '../../store/artifact-store.js';
import { epochSeconds } from '../../times/epoch-seconds.js';
import type { OurSession } from '../accounts/login-context.js';
import { sessionEnd } from '../accounts/session-end.js';
import { keyOf } from '../artifacts/ids.js';
import { isOfEndedSession } from '../artifacts/lost-writes.js';
import { type Aside, signInMembers } from '../artifacts/session-members.js';
import type { SessionGrant, SessionPayload } from '../artifacts/session-merge.js';
import { readStored } from '../artifacts/stored-records.js';
import type { UnitOfWork } from '../artifacts/unit-of-work.js';
import type { OidcParts } from '../context.js';

/** Seconds left to a session: its idle time, cut off where its absolute time ends. Before a sign-in it only carries the request. */
export function sessionTtl({ options: { lifetimes }, now }: Pick<OidcParts, 'options' | 'now'>, session: Session | undefined): number {
  if (!session?.loginTs) return lifetimes.interaction;
  const at = epochSeconds(now());
  const left = sessionEnd(lifetimes, session.loginTs) - at;
  const untilEnd = ((session as OurSession).endsAt ?? Number.POSITIVE_INFINITY) - at;
  // One that ends before it is idle is kept beyond its end, because it names the session that was set aside for it.
  const idle = untilEnd <= lifetimes.sessionIdle ? Math.max(0, untilEnd) + lifetimes.sessionIdle : lifetimes.sessionIdle;
  return Math.max(1, Math.min(idle, left));
}

/** Writes what a request leaves behind. A session that was ended while it ran stays ended. */
export async function commitRequest(unit: UnitOfWork): Promise<void> {
  try {
    await unit.commit();
  } catch (error) {
    if (!isOfEndedSession(error)) throw error;
  }
}

/** What has to be known of a session before it is changed. */
type Announce = (before: SessionPayload, key: ArtifactKey) => Promise<void>;

/** What comes with a change of a session. */
interface WithChange {
  /** What goes with the record as it was, in the same commit. */
  readonly removing?: (before: SessionPayload) => readonly Remove[];
  /** Is done before the commit, and again when another request was faster. */
  readonly announce?: Announce;
  /** Milliseconds since the epoch until which the record is kept at least. */
  readonly keptUntil?: number;
}

/**
 * Changes a session outside a request to oidc-provider, by compare-and-swap: `change` gets the record as it is, and may run again; with undefined
 * nothing is changed.
 * @returns the record before; undefined when the session is gone, is damaged, or was not changed.
 */
export async function changeSession(
  artifacts: ArtifactStore,
  key: ArtifactKey | undefined,
  change: (session: SessionPayload) => SessionPayload | undefined,
  { removing, announce, keptUntil = 0 }: WithChange = {},
): Promise<SessionPayload | undefined> {
  if (!key) return undefined;
  for (;;) {
    const artifact = (await artifacts.read([{ key }])).get(key);
    if (!artifact) return undefined;
    const { version, account: _account, ...record } = artifact;
    const before = readStored<SessionPayload>('Session', artifact.value);
    if (!before) return undefined;
    const after = change(before);
    if (!after) return undefined;
    await announce?.(before, key);
    const put = {
      ...record,
      op: 'put',
      value: JSON.stringify(after),
      expiresAt: Math.max(record.expiresAt, keptUntil),
      ...(after.accountId ? { account: after.accountId } : {}),
      if: { version },
    } as const;
    const { ok } = await artifacts.commit([put, ...(removing?.(before) ?? [])]);
    if (ok) return before;
  }
}

/** Whether the sign-in of a session is still the one that a request found: another one, or a sign-out, may have come between. */
export const isSameSignIn = (now: SessionPayload, found: Pick<OurSession, 'accountId' | 'loginTs'>): boolean =>
  now.accountId === found.accountId && now.loginTs === found.loginTs;

/**
 * Ends the sign-in of a session and every grant it brought about: those that other requests add meanwhile are ended as well, or not written.
 * @param applies whether the session, as it is by then, is the one that is meant.
 * @returns the session as it was; undefined when there is none to end.
 */
export const endSignIn = (
  artifacts: ArtifactStore,
  key: ArtifactKey | undefined,
  announce: Announce,
  applies: (session: SessionPayload) => boolean = () => true,
): Promise<SessionPayload | undefined> =>
  changeSession(artifacts, key, (session) => (applies(session) ? signedOut(session) : undefined), {
    removing: ({ grants = [] }) => removalsOf(grants),
    announce,
  });

/** The writes that end grants, each until it would have ended by itself. */
export const removalsOf = (grants: readonly SessionGrant[]): readonly Remove[] =>
  grants.flatMap(({ grantId, exp }) => {
    const key = keyOf('Grant', grantId);
    return key ? [{ op: 'remove', key, until: exp * 1000 }] : [];
  });

/** {@link endSignIn}, and that of the session that was set aside for it. @returns those that ended, as they were */
export async function endWithAside(
  artifacts: ArtifactStore,
  uid: string,
  announce: Announce,
): Promise<readonly { readonly before: SessionPayload; readonly key: ArtifactKey }[]> {
  const key = keyOf('Session', uid);
  const before = await endSignIn(artifacts, key, announce);
  if (!before || !key) return [];
  const { aside } = before as { readonly aside?: Aside };
  if (!aside) return [{ before, key }];
  const others = await endWithAside(artifacts, aside.uid, announce);
  await changeSession(artifacts, key, ({ aside: _, ...rest }) => rest);
  return [{ before, key }, ...others];
}

/** What was set aside stays: it takes the place of what ended. */
function signedOut({ accountId: _, loginTs, amr, acr, authorizations, grants, ...rest }: SessionPayload): SessionPayload {
  for (const member of signInMembers) delete rest[member];
  return rest;
}
