import { base64url, decodeProtectedHeader } from 'jose';
import type { Client, KoaContextWithOIDC } from 'oidc-provider';
import type { Account } from '../../directory/index.js';
import { decodeUtf8 } from '../../text/decode.js';
import { inSharedTime } from '../../times/node-time.js';
import type { Accounts } from '../accounts/account.js';
import { currentRequest, type PinnedLogin, pinnedLogin } from '../accounts/login-context.js';
import type { Scopes } from '../accounts/scopes.js';
import { subjectForClient } from '../accounts/subject.js';
import { type Caller, findCaller, isClient } from '../clients/clients.js';
import { identifierOf, pseudonymOf } from '../clients/pairwise.js';
import type { OidcParts } from '../context.js';
import { signedJwt } from '../keys/jwt.js';
import { signingKeyFor } from '../keys/keys.js';
import type { AccessTokenModel } from '../upstream/access-token.js';

/** The account in an access token. */
export interface AboutHolder {
  readonly ctx: object;
  readonly client: Client;
  readonly account: Account;
  readonly login: PinnedLogin | undefined;
  readonly scope: string | undefined;
  /** API resources in the token's audience. */
  readonly audiences: readonly string[];
}

/**
 * Returns the claims of an access token. Introspection and JWT access tokens have the same claims.
 * @see RFC 9068 §2.2
 */
export type AccessTokenClaims = (about: AboutHolder) => Promise<Record<string, unknown>>;

export const createAccessTokenClaims =
  (parts: OidcParts, accounts: Accounts): AccessTokenClaims =>
  async ({ ctx, client, account, login, scope = '', audiences }) => {
    const ofSignIn = login ? { amr: login.amr, idp: login.idp, auth_time: login.authTime } : {};
    if (!parts.claims.isForAccessTokens || audiences.length === 0)
      return { ...accounts.protocolClaims(account, login, pseudonymOf(parts, client)), ...ofSignIn };
    const claims = await accounts.claimsOf(account, 'access_token', new Set(scope.split(' ')), { ctx, client, login, audience: audiences });
    return { ...claims, ...ofSignIn };
  };

/** Returns the key or the certificate to which a token is bound. @see RFC 7800 §3.1, RFC 9449 §6.1, RFC 8705 §3.1 */
export function confirmationOf({ jkt, 'x5t#S256': x5t }: Pick<AccessTokenRecord, 'jkt' | 'x5t#S256'>): { cnf?: object } {
  const cnf = { ...(jkt ? { jkt } : {}), ...(x5t ? { 'x5t#S256': x5t } : {}) };
  return Object.keys(cnf).length > 0 ? { cnf } : {};
}

/** Returns the resource that the request named, otherwise the API resources that own the token's scopes. */
export const audiencesOf = (
  scopes: Scopes,
  ctx: object,
  { aud, scope }: { readonly aud?: AccessTokenModel['aud'] | undefined; readonly scope?: string | undefined },
): readonly string[] => (aud === undefined ? scopes.audiences(ctx, scope) : [aud].flat());

const tokenRoutes = new Set(['introspection', 'revocation']);
const WRAPPED = 'jwt~';

/** Returns the token in a parameter that has a copied `Authorization` header or white space around the token. A token has no white space. */
export const tokenIn = (parameter: string): string => parameter.trim().replace(/^(?:bearer|dpop)\s+/i, '') || parameter;

/**
 * Wraps the token, because oidc-provider refuses a text that looks like a JWT at these endpoints. A token of this service may be a JWT. Any other JWT is an
 * unknown token.
 */
export function wrapToken(route: string, parameters: Record<string, string | string[] | undefined>) {
  if (!tokenRoutes.has(route) || typeof parameters.token !== 'string') return parameters;
  const token = tokenIn(parameters.token);
  return { ...parameters, token: token.includes('.') ? WRAPPED + Buffer.from(token).toString('base64url') : token };
}

export const isSigned = (value: string): boolean => value.startsWith(WRAPPED) || value.includes('.');

const unwrapToken = (value: string): string =>
  value.startsWith(WRAPPED) ? Buffer.from(value.slice(WRAPPED.length), 'base64url').toString() : value;

/** The account of a token. */
export interface Holder {
  readonly account: Account;
  /** The sign-in. Absent for a grant that a host made. */
  readonly login?: PinnedLogin | undefined;
  readonly sub: string;
}

/** Members of a token's record that its JWT needs. */
export type AccessTokenRecord = {
  readonly [Member in keyof Omit<AccessTokenModel, 'kind'>]: AccessTokenModel[Member] | undefined;
} & Pick<AccessTokenModel, 'jti' | 'clientId'>;

/** Access tokens as JWTs, for clients that are registered for JWT access tokens. @see RFC 9068 */
export interface AccessTokens {
  /** Returns the JWT. @param holder absent for a token of the client itself. */
  signed(ctx: object, client: Client, token: AccessTokenRecord, holder?: Holder): Promise<string>;
  /** Returns the value of a token that oidc-provider makes. Undefined for a client without JWT access tokens, mostly without a promise. */
  sign(token: AccessTokenModel): undefined | Promise<string | undefined>;
  /** Returns the id of the token; undefined for a JWT that this service did not issue. */
  idOf(value: string): Promise<string | undefined>;
}

export function createAccessTokens(parts: OidcParts, accounts: Accounts, scopes: Scopes): AccessTokens {
  const { keys, options, directory } = parts;
  const claimsOf = createAccessTokenClaims(parts, accounts);

  async function holderOf(ctx: KoaContextWithOIDC, { accountId, clientId }: AccessTokenModel): Promise<Holder | undefined> {
    const account = accountId ? await accounts.load(ctx, accountId) : undefined;
    return account && { account, login: pinnedLogin(ctx), sub: await subjectForClient(accounts, ctx, accountId as string, clientId) };
  }

  return {
    sign(token) {
      const ctx = currentRequest();
      const { resourceServer } = token;
      const signed = async (record: Caller): Promise<string | undefined> => {
        if (!ctx || !isClient(record) || (resourceServer?.accessTokenFormat ?? record.accessTokenType) !== 'jwt') return undefined;
        const client = await ctx.oidc.provider.Client.find(token.clientId);
        return client && this.signed(ctx, client, token, await holderOf(ctx, token));
      };
      const mayBe = (record: Caller | undefined) =>
        record && (resourceServer || (isClient(record) && record.accessTokenType === 'jwt')) ? signed(record) : undefined;
      const record = findCaller(directory, token.clientId);
      return record instanceof Promise ? record.then(mayBe) : mayBe(record);
    },

    async signed(ctx, client, token, holder) {
      const audiences = audiencesOf(scopes, ctx, token);
      const payload = {
        // Members of a host (`extraTokenClaims`) come first, so that they cannot replace the members of the service.
        ...token.extra,
        ...(holder ? await claimsOf({ ctx, client, account: holder.account, login: holder.login, scope: token.scope, audiences }) : {}),
        iss: options.issuer,
        sub: holder ? identifierOf(parts, client, holder.sub) : token.clientId,
        aud: audiences.length > 0 ? audiences : [options.issuer],
        client_id: token.clientId,
        ...(token.scope ? { scope: token.scope } : {}),
        ...(token.sid ? { sid: token.sid } : {}),
        ...confirmationOf(token),
        jti: token.jti,
        iat: token.iat,
        exp: token.exp === undefined ? undefined : inSharedTime(token.exp, parts.now),
      };
      const key = signingKeyFor(client, keys(ctx));
      return signedJwt(key, 'at+jwt', payload);
    },

    async idOf(value: string): Promise<string | undefined> {
      const token = unwrapToken(value);
      try {
        const { typ, kid = '', alg } = decodeProtectedHeader(token);
        const key = keys().byKid(kid);
        if (!key || typ !== 'at+jwt' || alg !== key.alg) return undefined;
        const [header, payload = '', signature = '', ...others] = token.split('.');
        if (others.length > 0 || !key.verifies(Buffer.from(`${header}.${payload}`), base64url.decode(signature))) return undefined;
        const { jti, iss } = JSON.parse(decodeUtf8(Buffer.from(payload, 'base64url')) ?? '') as { jti?: unknown; iss?: unknown };
        return iss === options.issuer && typeof jti === 'string' ? jti : undefined;
      } catch {
        return undefined;
      }
    },
  };
}
