/** Which scopes a token request may ask for. */

import { isAdminScope } from '../../../store/records/admin-scopes.js';
import type { Client } from '../../../store/records/records.js';
import { checkScopes, type Scopes } from '../../accounts/scopes.js';

/** A client asks for API scopes it may have; without `scope` it gets them all but those of the admin API. @throws InvalidScope @see RFC 6749 §4.4.2, §3.3 */
export function clientCredentialsScope(ctx: object, scopes: Scopes, client: Client, asked: string | undefined): string | undefined {
  const allowed = client.allowedScopes.filter((scope) => scopes.isApiScope(ctx, scope));
  if (!asked) return [...new Set(allowed.filter((scope) => !isAdminScope(scope)))].join(' ') || undefined;
  const wanted = [...new Set(asked.split(' '))];
  checkScopes(wanted, client, new Set(allowed));
  return wanted.join(' ');
}

/** Grants that take no scope, or narrow theirs, still refuse one that the client may not have. @throws InvalidScope @see RFC 6749 §5.2 */
export function checkScopeBeside(ctx: object, scopes: Scopes, client: Client, asked: unknown): void {
  if (typeof asked === 'string') checkScopes(asked.split(' ').filter(Boolean), client, scopes.known(ctx));
}
