/**
 * Grant types, with a handler for each.
 *
 * `refresh-token` holds rotation, the grace period and replays. `extension-grants` runs the grant types of extensions.
 */
import type { Accounts } from '../../accounts/account.js';
import type { Scopes } from '../../accounts/scopes.js';
import type { OidcParts } from '../../context.js';
import type { AccessTokens } from '../access-token-jwt.js';
import { createIssue } from '../issue.js';
import type { GrantType } from '../token-request.js';
import { createAuthorizationCode } from './authorization-code.js';
import { createClientCredentials } from './client-credentials.js';
import type { ExtensionGrants } from './extension-grants.js';
import { createRefreshToken } from './refresh-token.js';

export type GrantTypes = ReadonlyMap<string, GrantType>;

export function createGrantTypes(
  parts: OidcParts,
  accounts: Accounts,
  scopes: Scopes,
  accessTokens: AccessTokens,
  extensionGrants: ExtensionGrants,
): GrantTypes {
  const issue = createIssue(parts, accounts, scopes, accessTokens);
  return new Map([
    ['client_credentials', createClientCredentials(parts, scopes, accessTokens)],
    ['authorization_code', createAuthorizationCode(parts, scopes, issue)],
    ['refresh_token', createRefreshToken(parts, scopes, issue)],
    ...[...parts.grantTypes].map(([name, type]) => [name, extensionGrants.handler(name, type, issue)] as const),
  ]);
}
