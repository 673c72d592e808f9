/** Scopes that a token request may ask for. */

import { isAdminScope } from '../../../store/records/admin-scopes.js';
import type { Client } from '../../../store/records/records.js';
import { checkScopes, type Scopes } from '../../accounts/scopes.js';

/**
 * Returns the API scopes of a request that the client may have. Without `scope`, returns all API scopes that the client may have, except scopes of the
 * admin API. @throws InvalidScope
 * @see RFC 6749 §4.4.2, §3.3
 */
export function clientCredentialsScope(ctx: object, scopes: Scopes, client: Client, asked: string | undefined): string | undefined {
  const allowed = client.allowedScopes.filter((scope) => scopes.isApiScope(ctx, scope));
  if (!asked) return [...new Set(allowed.filter((scope) => !isAdminScope(scope)))].join(' ') || undefined;
  const wanted = [...new Set(asked.split(' '))];
  checkScopes(wanted, client, new Set(allowed));
  return wanted.join(' ');
}

/**
 * Checks `scope` for grants that ignore `scope`, or narrow their scope by it: refuses a scope that the client may not have. @throws InvalidScope @see RFC
 * 6749 §5.2
 */
export function checkScopeBeside(ctx: object, scopes: Scopes, client: Client, asked: unknown): void {
  if (typeof asked === 'string') checkScopes(asked.split(' ').filter(Boolean), client, scopes.known(ctx));
}
