/**
 * Who gets a refresh token: whoever was granted `offline_access`, by a client that refreshes, at a sign-in that may be used while the user is away. And how long
 * a grant lasts with it.
 * @see OpenID Connect Core 1.0 §11
 */
import type { Client } from 'oidc-provider';
import type { Client as ClientRecord } from '../../store/records/records.js';
import { nodeSeconds, secondsAhead } from '../../times/node-time.js';
import type { PinnedLogin } from './login-context.js';

/** @param scopes that were granted. */
export const getsRefreshToken = (client: Client, scopes: readonly string[]): boolean =>
  client.grantTypeAllowed('refresh_token') && scopes.includes('offline_access');

/** Not where somebody acts as the user, nor with `offline: false`, whatever a host configured. */
export const mayBeOffline = ({ act, offline }: { readonly act?: unknown; readonly offline?: false | undefined }): boolean =>
  act === undefined && offline !== false;

/** As if it had not been asked for. */
export const withoutOffline = (scopes: readonly string[]): string[] => scopes.filter((scope) => scope !== 'offline_access');

/** Returns the end of a grant, by the clock of this node. With offline access, a grant outlives the session, but never the sign-in. */
export function grantEnd(
  scopes: readonly string[],
  { sessionEndsAt, endsAt = Number.POSITIVE_INFINITY }: Pick<PinnedLogin, 'sessionEndsAt' | 'endsAt'>,
  { lifetimes }: Pick<ClientRecord, 'lifetimes'>,
  { refreshTokenAbsolute, now }: { readonly refreshTokenAbsolute: number; readonly now: () => number },
): number {
  const ahead = secondsAhead(now);
  const absolute = nodeSeconds() + (lifetimes.refreshTokenAbsolute ?? refreshTokenAbsolute);
  return Math.min(scopes.includes('offline_access') ? absolute : sessionEndsAt + ahead, endsAt + ahead);
}
