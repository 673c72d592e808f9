import type { Session } from 'oidc-provider';
import type { ResolvedOptions } from '../options-defaults.js';

/** Seconds left to a session: its idle time, cut off where its absolute time ends. Before a sign-in it only carries the request. */
export function sessionTtl({ lifetimes }: Pick<ResolvedOptions, 'lifetimes'>, session: Session | undefined): number {
  if (!session?.loginTs) return lifetimes.interaction;
  const left = session.loginTs + lifetimes.sessionAbsolute - Math.floor(Date.now() / 1000);
  return Math.max(1, Math.min(lifetimes.sessionIdle, left));
}
