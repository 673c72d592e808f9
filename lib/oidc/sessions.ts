import type { Session } from 'oidc-provider';
import type { ResolvedOptions } from '../options-defaults.js';
import type { ArtifactStore, Remove } from '../store/artifact-store.js';
import { keyOf } from './ids.js';
import type { SessionPayload } from './session-merge.js';
import { LostWrite, type UnitOfWork } from './unit-of-work.js';

/** Seconds left to a session: its idle time, cut off where its absolute time ends. Before a sign-in it only carries the request. */
export function sessionTtl({ lifetimes }: Pick<ResolvedOptions, 'lifetimes'>, session: Session | undefined): number {
  if (!session?.loginTs) return lifetimes.interaction;
  const left = session.loginTs + lifetimes.sessionAbsolute - Math.floor(Date.now() / 1000);
  return Math.max(1, Math.min(lifetimes.sessionIdle, left));
}

/** Writes what a request leaves behind. A session that was ended while it ran stays ended. */
export async function commitRequest(unit: UnitOfWork): Promise<void> {
  try {
    await unit.commit();
  } catch (error) {
    if (!(error instanceof LostWrite) || !error.key.startsWith('Session')) throw error;
  }
}

/**
 * Changes a session outside a request to oidc-provider, by compare-and-swap: `change` gets the record as it is, and may run again.
 * @param removing what goes with the record as it was, in the same commit.
 * @returns the record before; undefined when the session is gone.
 */
export async function changeSession(
  artifacts: ArtifactStore,
  uid: string,
  change: (session: SessionPayload) => SessionPayload,
  removing: (before: SessionPayload) => readonly Remove[] = () => [],
): Promise<SessionPayload | undefined> {
  const key = keyOf('Session', uid);
  if (!key) return undefined;
  for (;;) {
    const artifact = (await artifacts.read([{ key }])).get(key);
    if (!artifact) return undefined;
    const { version, account: _account, ...record } = artifact;
    const before = JSON.parse(artifact.value) as SessionPayload;
    const after = change(before);
    const put = {
      ...record,
      op: 'put',
      value: JSON.stringify(after),
      ...(after.accountId ? { account: after.accountId } : {}),
      if: { version },
    } as const;
    const { ok } = await artifacts.commit([put, ...removing(before)]);
    if (ok) return before;
  }
}

/**
 * Ends the sign-in of a session and every grant it brought about: those that other requests add meanwhile are ended as well, or not written.
 * @returns the session as it was.
 */
export const endSignIn = (artifacts: ArtifactStore, uid: string): Promise<SessionPayload | undefined> =>
  changeSession(artifacts, uid, signedOut, ({ grants = [] }) =>
    grants.flatMap(({ grantId, exp }) => {
      const key = keyOf('Grant', grantId);
      return key ? [{ op: 'remove', key, until: exp * 1000 }] : [];
    }),
  );

const signedOut = ({ accountId: _, sub, loginTs, amr, acr, idp, act, authorizations, grants, ...rest }: SessionPayload): SessionPayload =>
  rest;
