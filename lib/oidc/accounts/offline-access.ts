/**
 * Offline access: which sign-ins give a refresh token, and how long their grants last.
 *
 * A client gets a refresh token if:
 * - the client was granted `offline_access`,
 * - the client is registered for refreshes, and
 * - the sign-in may be used while the user is away.
 * @see OpenID Connect Core 1.0 §11
 */
import type { Client } from 'oidc-provider';
import type { Client as ClientRecord } from '../../store/records/records.js';
import { nodeSeconds, secondsAhead } from '../../times/node-time.js';
import type { PinnedLogin } from './login-context.js';

/** @param scopes granted scopes. */
export const getsRefreshToken = (client: Client, scopes: readonly string[]): boolean =>
  client.grantTypeAllowed('refresh_token') && scopes.includes('offline_access');

/** Returns whether the sign-in may be used offline. A sign-in with `act` or `offline: false` may not, whatever a host configured. */
export const mayBeOffline = ({ act, offline }: { readonly act?: unknown; readonly offline?: false | undefined }): boolean =>
  act === undefined && offline !== false;

/** Returns the scopes without `offline_access`. */
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
