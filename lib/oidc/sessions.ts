import type { Session } from 'oidc-provider';
import type { ResolvedOptions } from '../options-defaults.js';
import type { ArtifactStore } from '../store/artifact-store.js';
import { keyOf } from './ids.js';
import type { SessionPayload } from './session-merge.js';

/** Seconds left to a session: its idle time, cut off where its absolute time ends. Before a sign-in it only carries the request. */
export function sessionTtl({ lifetimes }: Pick<ResolvedOptions, 'lifetimes'>, session: Session | undefined): number {
  if (!session?.loginTs) return lifetimes.interaction;
  const left = session.loginTs + lifetimes.sessionAbsolute - Math.floor(Date.now() / 1000);
  return Math.max(1, Math.min(lifetimes.sessionIdle, left));
}

/**
 * Changes a session outside a request to oidc-provider, by compare-and-swap: `change` gets the record as it is, and may run again.
 * @returns the record before; undefined when the session is gone.
 */
export async function changeSession(
  artifacts: ArtifactStore,
  uid: string,
  change: (session: SessionPayload) => SessionPayload,
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
    const { ok } = await artifacts.commit([put]);
    if (ok) return before;
  }
}
