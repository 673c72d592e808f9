/**
 * Token requests that are plain and succeed, answered without oidc-provider. Every refusal is its own: whatever is wrong with a request, it is
 * left as it came.
 */
import type { Context } from 'koa';
import type { AdapterPayload, Client } from 'oidc-provider';
import type { Account } from '../../directory/index.js';
import type { Client as ClientRecord } from '../../store/records.js';
import type { Accounts } from '../accounts/account.js';
import type { GrantRecord, PinnedLogin } from '../accounts/login-context.js';
import { createId } from '../artifacts/ids.js';
import { LostWrite, type UnitOfWork } from '../artifacts/unit-of-work.js';
import { clientOf } from '../clients/clients.js';
import { pseudonymOf } from '../clients/pairwise.js';
import { isVerified } from '../clients/pkce.js';
import { signedJwt } from '../keys/jwt.js';
import type { SigningKeys } from '../keys/keys.js';
import { clientCredentialsScope, lifetimesOf } from './grant-types.js';
import { authenticated, type DirectAnswer, type DirectParts, send } from './plain-answers.js';
import { type PlainForm, plainForm } from './plain-door.js';
import { refreshUseOf } from './refresh-token.js';

/** What a code or a refresh token was given for. */
interface Source extends AdapterPayload {
  readonly accountId: string;
  readonly grantId: string;
  readonly scope: string;
}

interface Request {
  readonly ctx: Context;
  readonly unit: UnitOfWork;
  readonly fields: PlainForm['fields'];
  readonly client: Client;
  readonly record: ClientRecord;
}

/** The body of the answer; undefined when it is not plain. */
type Issue = (request: Request) => Promise<object | undefined>;

/** @see RFC 6749 §4.1.3, §4.4, §6 */
export function createDirectTokens({ parts, scopes, accounts, findClient }: DirectParts): DirectAnswer {
  const { adapters, options, keys } = parts;
  const { tokens } = adapters;
  const lifetimes = lifetimesOf(parts);

  const clientCredentials: Issue = async ({ ctx, unit, fields, client, record }) => {
    const { clientId } = client;
    const scope = clientCredentialsScope(ctx, scopes, record, fields.scope);
    const expiresIn = lifetimes.ClientCredentials(undefined, { kind: 'ClientCredentials' }, client);
    const iat = now();
    const exp = iat + expiresIn;
    const id = createId('ClientCredentials');
    tokens.put(unit, 'ClientCredentials', id, { iat, exp, scope, clientId }, exp);
    await unit.commit();
    return { access_token: id, expires_in: expiresIn, scope, token_type: 'Bearer' };
  };

  const authorizationCode: Issue = async (request) => {
    const { unit, fields, client } = request;
    const { code = '', redirect_uri: redirectUri } = fields;
    const found = fields.scope === undefined ? await tokens.find(unit, 'AuthorizationCode', code) : undefined;
    const source = found?.token as Source | undefined;
    if (!found || !isSourceOf(source, client) || source.redirectUri !== redirectUri || !isVerified(fields.code_verifier, source))
      return undefined;
    const withRefreshToken = client.grantTypeAllowed('refresh_token') && source.scope.split(' ').includes('offline_access');
    return issue(request, found.grant as unknown as GrantRecord, source, {
      gty: 'authorization_code',
      spend: () => tokens.spend(unit, 'AuthorizationCode', code),
      ...(withRefreshToken ? { refreshToken: createId('RefreshToken', source.grantId), rotations: 0 } : {}),
    });
  };

  const refreshToken: Issue = async (request) => {
    const { ctx, unit, fields, client, record } = request;
    const { refresh_token: value = '' } = fields;
    const found = fields.scope === undefined ? await tokens.find(unit, 'RefreshToken', value) : undefined;
    const source = found?.token as Source | undefined;
    if (!found || !isSourceOf(source, client)) return undefined;
    const { gty = '', rotations = 0 } = source as { gty?: string; rotations?: number };
    return issue(request, found.grant as unknown as GrantRecord, source, {
      gty: gty.endsWith('refresh_token') ? gty : `${gty} refresh_token`,
      spend: () => tokens.spend(unit, 'RefreshToken', value, refreshUseOf(ctx, value, record)),
      refreshToken: tokens.successorOf(value),
      rotations: rotations + 1,
    });
  };

  interface Issuance {
    readonly gty: string;
    readonly spend: () => void;
    readonly refreshToken?: string;
    readonly rotations?: number;
  }

  async function issue(
    { ctx, unit, client, record }: Request,
    grant: GrantRecord,
    source: Source,
    { gty, spend, refreshToken: refreshTokenId, rotations }: Issuance,
  ): Promise<object | undefined> {
    const { accountId, grantId } = source;
    const { login } = grant;
    const account = login && (await accounts.loadUsable(ctx, accountId, login, client));
    if (!account) return undefined;
    const asked = new Set(source.scope.split(' '));
    const granted = (grant.openid?.scope?.split(' ') ?? []).filter((name) => asked.has(name));
    const scope = scopes.held(ctx, record, granted).join(' ');
    const { sid } = source as { sid?: string };
    const { clientId } = client;
    const iat = now();

    spend();
    if (refreshTokenId !== undefined) {
      const { acr, amr, authTime, nonce, iiat = iat } = source as Record<string, unknown> & { iiat?: number };
      const exp = iat + lifetimes.RefreshToken(undefined, { kind: 'RefreshToken', iiat }, client, grant);
      const kept = { accountId, acr, amr, authTime, iiat, grantId, gty, nonce, rotations, scope: source.scope, sid, clientId };
      tokens.put(unit, 'RefreshToken', refreshTokenId, { iat, exp, ...kept } as AdapterPayload, exp);
    }
    const expiresIn = lifetimes.AccessToken(undefined, { kind: 'AccessToken' }, client, grant);
    const accessToken = createId('AccessToken', grantId);
    const exp = iat + expiresIn;
    tokens.put(unit, 'AccessToken', accessToken, { iat, exp, accountId, grantId, gty, sid, clientId, scope } as AdapterPayload, exp);
    const idToken = asked.has('openid')
      ? await signIdToken(
          { keys, accounts },
          account,
          new Set(scope.split(' ')),
          { client, record, login, source },
          {
            sub: pseudonymOf(parts, client)?.(login.sub) ?? login.sub,
            exp: iat + lifetimes.IdToken(undefined, { kind: 'IdToken' }, client),
            iat,
            iss: options.issuer,
          },
        )
      : undefined;
    await unit.commit();
    return {
      access_token: accessToken,
      expires_in: expiresIn,
      id_token: idToken,
      refresh_token: refreshTokenId,
      scope,
      token_type: 'Bearer',
    };
  }

  const issuers = new Map<string, Issue>([
    ['client_credentials', clientCredentials],
    ['authorization_code', authorizationCode],
    ['refresh_token', refreshToken],
  ]);

  return async (ctx) => {
    const form = await plainForm(ctx);
    const grantType = form?.fields.grant_type ?? '';
    const issueFor = issuers.get(grantType);
    const client = form && issueFor && (await authenticated(form, findClient));
    const record = clientOf(client);
    if (!client || !record || !isPlain(client, record) || !client.grantTypeAllowed(grantType)) return false;
    const unit = adapters.unitOf(ctx);
    const body = await issueFor({ ctx, unit, fields: form.fields, client, record }).catch((error: unknown) => {
      // Refused, or spent by another request meanwhile: what it gets then is for oidc-provider to say.
      unit.reset();
      if (isRefusal(error)) return undefined;
      throw error;
    });
    if (!body) return false;
    send(ctx, body);
    return true;
  };
}

const now = (): number => Math.floor(Date.now() / 1000);

const isRefusal = (error: unknown): boolean => error instanceof LostWrite || (error as { status?: number }).status === 400;

/** Signed access tokens, those bound to a key, and ID tokens that are encrypted or signed with a secret, are not. */
const isPlain = (client: Client, { accessTokenType }: ClientRecord): boolean =>
  accessTokenType !== 'jwt' &&
  !client.dpopBoundAccessTokens &&
  /^(RS|ES)256$/.test(client.idTokenSignedResponseAlg ?? '') &&
  client.idTokenEncryptedResponseAlg === undefined;

/** Whether the token is the client's, and nothing was asked with it that is not plain. */
const isSourceOf = (source: Source | undefined, { clientId }: Client): source is Source =>
  source !== undefined &&
  source.clientId === clientId &&
  source.scope !== undefined &&
  unusualMembers.every((member) => source[member] === undefined);

const unusualMembers = ['claims', 'resource', 'rar', 'jkt', 'x5t#S256', 'dpopJkt', 'attestationJkt', 'expiresWithSession'];

/** @see OpenID Connect Core §2 */
async function signIdToken(
  { keys, accounts }: { readonly keys: SigningKeys; readonly accounts: Accounts },
  account: Account,
  scopes: ReadonlySet<string>,
  { client, record, login, source }: { client: Client; record: ClientRecord; login: PinnedLogin; source: Source },
  { iss, sub, exp, iat }: { readonly iss: string; readonly sub: string; readonly exp: number; readonly iat: number },
): Promise<string> {
  const { amr, authTime, nonce, sid } = source as Record<string, unknown>;
  const claims = await accounts.claimsOf(account, 'id_token', record.idTokenClaims === 'scopes' ? scopes : none, { client, login });
  const { tid, oid, act, idp } = claims;
  // In oidc-provider's order.
  const payload = { sub, tid, oid, idp, amr, auth_time: authTime, act, ...claims, nonce, sid, aud: client.clientId, exp, iat, iss };
  return signedJwt(keys.signing(client.idTokenSignedResponseAlg === 'ES256' ? 'ES256' : 'RS256'), undefined, payload);
}

const none: ReadonlySet<string> = new Set();
