import { hash } from 'node:crypto';
import type { AccessToken, Client, ClientCredentials, KoaContextWithOIDC, RefreshToken } from 'oidc-provider';
import { isUsable } from '../directory/index.js';
import { accessTokenClaims } from './access-tokens.js';
import type { Accounts } from './account.js';
import { isClient } from './clients.js';
import type { OidcParts } from './dependencies.js';
import { type AccessTokenModel, recordOf } from './internals.js';
import { pinnedLogin } from './login-context.js';
import type { Scopes } from './scopes.js';

type Token = AccessToken | ClientCredentials | RefreshToken;
type Introspected = AccessTokenModel & { aud?: readonly string[]; jti: string };

/**
 * Who may read a token, and what it says beside the standard members. Whoever may not gets what an unknown token gets.
 * @see RFC 7662 §2.2, §4
 */
export const createIntrospectionPolicy =
  (parts: OidcParts, accounts: Accounts, scopes: Scopes) =>
  async (ctx: KoaContextWithOIDC, client: Client, found: Token): Promise<boolean> => {
    const token = found as unknown as Introspected;
    const audiences = scopes.audiences(ctx, token.scope);
    if (client.clientAuthMethod === 'none') return false;
    const isOwn = token.clientId === client.clientId;
    if (!isOwn && ((token.kind as string) === 'RefreshToken' || isClient(recordOf(client)) || !audiences.includes(client.clientId)))
      return false;

    const account = token.accountId ? await accounts.load(ctx, token.accountId) : undefined;
    if (token.accountId && (!account || !isUsable(account, loginAt(ctx)))) return false;

    token.extra = {
      ...token.extra,
      nbf: token.iat,
      ...(account ? { username: account.person.user.userName } : {}),
      ...(await accessTokenClaims(parts, accounts, ctx, token)),
    };
    token.aud = audiences.length > 0 ? audiences : [parts.options.issuer];
    if (token.jti === ctx.oidc.params?.token) token.jti = publicJti(token.jti);
    return true;
  };

const loginAt = (ctx: KoaContextWithOIDC): Date | undefined => {
  const login = pinnedLogin(ctx);
  return login && new Date(login.authTime * 1000);
};

/** An opaque token's id is the token itself: what may be logged and compared is its digest. */
const publicJti = (jti: string): string => hash('sha256', `jti ${jti}`, 'base64url');

/** @see RFC 7009 §2.1 */
export const mayRevoke = (_ctx: KoaContextWithOIDC, client: Client, token: Token): boolean => token.clientId === client.clientId;
