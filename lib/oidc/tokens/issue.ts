/**
 * Tokens: the endpoints that issue, describe and revoke tokens. The code here issues the tokens of a grant, in one commit with the use of the code or
 * refresh token.
 *
 * Each grant type, introspection, revocation and userinfo has one handler. Two doors lead to the handler: `doors/plain-door` for the common form of a
 * request, and `doors/provider-door` from within oidc-provider.
 */
import { type AdapterPayload, type Client, errors } from 'oidc-provider';
import { epochSeconds } from '../../times/epoch-seconds.js';
import { nodeSeconds } from '../../times/node-time.js';
import type { Accounts } from '../accounts/account.js';
import type { GrantRecord } from '../accounts/login-context.js';
import type { Scopes } from '../accounts/scopes.js';
import { subjectOf } from '../accounts/subject.js';
import { createId } from '../artifacts/ids.js';
import { identifierOf } from '../clients/pairwise.js';
import type { OidcParts } from '../context.js';
import { signedJwt } from '../keys/jwt.js';
import { signingKeyFor } from '../keys/keys.js';
import type { AccessTokens, Holder } from './access-token-jwt.js';
import { lifetimesOf } from './lifetimes.js';
import type { Proof, TokenRequest, TokenResponse } from './token-request.js';

export interface Issuance {
  /** The code or refresh token of the request. The new tokens describe its sign-in. */
  readonly source: AdapterPayload;
  readonly grant: AdapterPayload;
  /** Grant types that led to the source: `authorization_code refresh_token`. */
  readonly gty: string;
  /** Granted scopes that the request asks for. */
  readonly asked: string;
  readonly proof: Proof | undefined;
  readonly refreshToken?: { readonly id: string; readonly rotations: number };
  /** Runs after the account was found usable. */
  readonly settle?: () => void | Promise<void>;
}

export type Issue = (request: TokenRequest, issuance: Issuance) => Promise<TokenResponse>;

export function createIssue(parts: OidcParts, accounts: Accounts, scopes: Scopes, accessTokens: AccessTokens): Issue {
  const { adapters, options, keys } = parts;
  const { tokens } = adapters;
  const lifetimes = lifetimesOf(parts);

  async function idToken(
    request: TokenRequest,
    { source }: Issuance,
    { account, login, sub }: Holder,
    scope: string,
    iat: number,
  ): Promise<string> {
    const { client, record } = request;
    const { acr, amr, authTime, nonce, sid, claims: asked } = source as Record<string, unknown> & { claims?: AskedClaims };
    const granted = record.idTokenClaims === 'scopes' ? new Set(scope.split(' ')) : none;
    const claims = await accounts.claimsOf(account, 'id_token', granted, { ctx: request.ctx, client, login });
    // `Object.assign` is used, because V8 makes a hash table of a literal with so many members after a spread. JSON then takes several times as long.
    const payload = Object.assign({}, claims, {
      sub: identifierOf(parts, client, sub),
      acr: asked?.id_token?.acr === undefined ? undefined : acr,
      amr,
      auth_time: authTime,
      nonce,
      sid,
      aud: client.clientId,
      exp: iat + lifetimes.IdToken(undefined, { kind: 'IdToken' }, client, { login }),
      iat,
      iss: options.issuer,
    });
    return signedJwt(signingKeyFor(client, keys(request.ctx)), undefined, payload);
  }

  return async (request, issuance) => {
    const { ctx, unit, client, record } = request;
    const { source, gty, asked, proof, refreshToken } = issuance;
    const { accountId = '', grantId = '' } = source;
    const grant = issuance.grant as unknown as GrantRecord;
    const account = await accounts.loadMintable(ctx, accountId, grant.login, client, asked.split(' '));
    if (!account) throw new errors.InvalidGrant('referenced account not found');

    const { login } = grant;
    const holder = { account, login, sub: subjectOf(account, login) };
    const wanted = new Set(asked.split(' '));
    const granted = (grant.openid?.scope?.split(' ') ?? []).filter((name) => wanted.has(name));
    const scope = scopes.held(ctx, record, granted).join(' ');
    const { claims, sid } = source as { claims?: unknown; sid?: string };
    const { clientId } = client;
    const iat = epochSeconds(parts.now());
    const at = nodeSeconds();

    const settling = issuance.settle?.();
    if (settling) await settling;
    if (refreshToken !== undefined) {
      const { acr, amr, authTime, nonce, iiat = iat } = source as Record<string, unknown> & { iiat?: number };
      const exp = at + lifetimes.RefreshToken(undefined, { kind: 'RefreshToken', iiat }, client, grant);
      const { id, rotations } = refreshToken;
      const kept = { accountId, acr, amr, authTime, claims, iiat, grantId, gty, nonce, rotations, scope: source.scope, sid, clientId };
      const jkt = source.kind === 'RefreshToken' ? source.jkt : boundTo(client, proof);
      tokens.put(unit, 'RefreshToken', id, { iat, exp, ...kept, jkt } as AdapterPayload, exp);
    }
    const expiresIn = lifetimes.AccessToken(undefined, { kind: 'AccessToken' }, client, grant);
    const id = createId('AccessToken', grantId);
    const token = { iat, exp: at + expiresIn, accountId, claims, grantId, gty, sid, clientId, scope, jkt: proof?.jkt };
    const signed =
      record.accessTokenType === 'jwt' ? await accessTokens.signed(ctx, client, { ...token, jti: id } as never, holder) : undefined;
    tokens.put(unit, 'AccessToken', id, { ...token, ...(signed && { structured: true }) } as AdapterPayload, token.exp);
    return {
      access_token: signed ?? id,
      expires_in: expiresIn,
      id_token: wanted.has('openid') ? await idToken(request, issuance, holder, scope, iat) : undefined,
      refresh_token: refreshToken?.id,
      scope,
      token_type: proof ? 'DPoP' : 'Bearer',
    };
  };
}

interface AskedClaims {
  readonly id_token?: { readonly acr?: unknown };
}

/** Returns the thumbprint of the key to which a refresh token is bound: the key of a client without credentials. @see RFC 9449 §5 */
const boundTo = ({ clientAuthMethod }: Client, proof: Proof | undefined): string | undefined =>
  clientAuthMethod === 'none' ? proof?.jkt : undefined;

const none: ReadonlySet<string> = new Set();
