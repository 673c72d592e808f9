import { hash } from 'node:crypto';
import type { AccessToken, Client, ClientCredentials, KoaContextWithOIDC, RefreshToken } from 'oidc-provider';
import { inSharedTime } from '../../times/node-time.js';
import type { Accounts } from '../accounts/account.js';
import { isRefused } from '../accounts/impersonation.js';
import { type GrantRecord, type PinnedLogin, pinnedLogin } from '../accounts/login-context.js';
import type { Scopes } from '../accounts/scopes.js';
import { subjectOf } from '../accounts/subject.js';
import type { UnitOfWork } from '../artifacts/unit-of-work.js';
import { type Caller, callerOf, clientOf, type FindClient, isClient } from '../clients/clients.js';
import { identifierOf } from '../clients/pairwise.js';
import type { OidcParts } from '../context.js';
import type { AccessTokenModel } from '../upstream/access-token.js';
import { type AccessTokenRecord, audiencesOf, confirmationOf, createAccessTokenClaims } from './access-token-jwt.js';
import type { FindToken } from './found-token.js';

type Token = AccessToken | ClientCredentials | RefreshToken;
type Introspected = Omit<AccessTokenModel, 'aud' | 'scope' | 'exp'> & {
  aud?: readonly string[];
  scope?: string | undefined;
  jti: string;
  exp?: number;
};

/**
 * Members of the token that this caller may see, in addition to the standard members. Undefined means: answer `{"active":false}`.
 * @see RFC 7662 §2.2, §4
 */
export interface TokenDescription {
  readonly aud: readonly string[];
  /** Scopes that the client may still have. */
  readonly scope: string | undefined;
  readonly members: Readonly<Record<string, unknown>>;
}

export type DescribeToken = (
  ctx: object,
  caller: Client,
  token: Pick<AccessTokenRecord, 'clientId' | 'accountId' | 'scope' | 'aud' | 'iat'> & { readonly kind?: string | undefined },
  login: PinnedLogin | undefined,
) => Promise<TokenDescription | undefined>;

export const createDescribeToken = (parts: OidcParts, accounts: Accounts, scopes: Scopes, findClient: FindClient): DescribeToken => {
  const claimsOf = createAccessTokenClaims(parts, accounts);
  return async (ctx, caller, { kind, clientId, accountId, scope: minted, aud: resource, iat }, login) => {
    const asking = callerOf(caller);
    if (!asking || caller.clientAuthMethod === 'none') return undefined;
    const isOwn = clientId === caller.clientId;
    if (!isOwn && kind === 'RefreshToken') return undefined;
    const client = isOwn ? caller : await findClient(clientId);
    const record = clientOf(client);
    if (!client || !record) return undefined;
    const scope = scopes.held(ctx, record, minted?.split(' ') ?? []).join(' ') || undefined;
    const audiences = audiencesOf(scopes, ctx, { aud: kind === 'RefreshToken' ? undefined : resource, scope });
    if (!isOwn && !mayRead(asking, audiences)) return undefined;

    const aud = audiences.length > 0 ? audiences : [parts.options.issuer];
    // A token of the client itself has the same claims as the client's JWT access tokens. @see RFC 9068 §2.2
    if (!accountId) return { aud, scope, members: { sub: clientId, nbf: iat } };
    const account = await accounts.loadUsableRecent(ctx, accountId, login, client);
    if (await isRefused(parts.directory, login, { client: asking, audiences })) return undefined;
    if (!account || !(isOwn || (asking.allowedTenants?.includes(account.tenant.id) ?? true))) return undefined;
    const sub = subjectOf(account, login);
    const claims = await claimsOf({ ctx, client, account, login, scope, audiences: kind === 'RefreshToken' ? [] : audiences });
    return { aud, scope, members: { sub: identifierOf(parts, client, sub), nbf: iat, username: account.person.user.userName, ...claims } };
  };
};

/** Returns whether the caller may read access tokens that were issued to other clients. */
const mayRead = (caller: Caller, audiences: readonly string[]): boolean =>
  caller.introspects === 'all' || (!isClient(caller) && audiences.includes(caller.id));

export const createIntrospectionPolicy =
  (describe: DescribeToken, now: () => number) =>
  async (ctx: KoaContextWithOIDC, client: Client, found: Token): Promise<boolean> => {
    const token = found as unknown as Introspected;
    const description = await describe(ctx, client, token, pinnedLogin(ctx));
    if (!description) return false;
    token.extra = { ...token.extra, ...description.members };
    token.aud = description.aud;
    token.scope = description.scope;
    // The record has `exp` in the time of this node's clock.
    if (token.exp !== undefined) token.exp = inSharedTime(token.exp, now);
    if (token.jti === ctx.oidc.params?.token) token.jti = publicJti(token.jti);
    return true;
  };

/**
 * Adds `token_type`, which oidc-provider leaves out. The type is not `Bearer`, so that nobody uses the token as an access token. @see RFC 7662 §2.2, RFC
 * 7009 §2.1
 */
export function nameRefreshToken(ctx: KoaContextWithOIDC): void {
  const { route, entities } = ctx.oidc;
  const body = ctx.body as { active?: boolean; token_type?: string };
  if (route === 'introspection' && entities.RefreshToken && body.active === true) body.token_type = 'refresh_token';
}

/** Returns the digest of an opaque token's id, for logs and comparisons, because the id is the token itself. */
const publicJti = (jti: string): string => hash('sha256', `jti ${jti}`, 'base64url');

export interface IntrospectionRequest {
  readonly ctx: object;
  readonly unit: UnitOfWork;
  /** The authenticated caller. */
  readonly caller: Client;
  /** The token in the request. */
  readonly token: string;
}

/** @see RFC 7662 §2.2 */
export type Introspect = (request: IntrospectionRequest) => Promise<object>;

export const createIntrospect =
  ({ options, now }: OidcParts, describe: DescribeToken, find: FindToken): Introspect =>
  async ({ ctx, unit, caller, token: value }) => {
    const found = await find(unit, value);
    if (!found) return inactive();
    const { kind, token, grant } = found;
    const description = await describe(ctx, caller, { ...token, kind }, (grant as Partial<GrantRecord> | undefined)?.login);
    if (!description) return inactive();
    const { cnf } = confirmationOf(token);
    return {
      active: true,
      ...description.members,
      client_id: token.clientId,
      exp: token.exp === undefined ? undefined : inSharedTime(token.exp, now),
      iat: token.iat,
      sid: token.sid,
      iss: options.issuer,
      jti: found.isSigned ? token.jti : publicJti(token.jti),
      aud: description.aud,
      scope: description.scope,
      cnf,
      token_type: kind === 'RefreshToken' ? 'refresh_token' : token.jkt === undefined ? 'Bearer' : 'DPoP',
    };
  };

/** Returns a new object for each answer, because middleware may add members to the object. */
const inactive = () => ({ active: false });
