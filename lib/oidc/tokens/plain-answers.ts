/** Answers to plain requests without oidc-provider, the same as it would give: `test/protocol/direct.test.ts` compares them. */
import type { Context } from 'koa';
import type { AdapterPayload, Client } from 'oidc-provider';
import type { CallerState } from '../../contract/extension.js';
import { isLiveSecret } from '../../directory/index.js';
import type { Accounts } from '../accounts/account.js';
import type { GrantRecord } from '../accounts/login-context.js';
import type { Scopes } from '../accounts/scopes.js';
import { kindOfToken } from '../artifacts/ids.js';
import { type Caller, callerOf, clientOf } from '../clients/clients.js';
import { pseudonymOf } from '../clients/pairwise.js';
import type { OidcParts } from '../context.js';
import { type DescribeToken, publicJti } from './introspection.js';
import { type PlainForm, plainBearer, plainForm } from './plain-door.js';

/** Answers a request, or tells that it did not. */
export type DirectAnswer = (ctx: Context) => Promise<boolean>;

export interface DirectParts {
  readonly parts: OidcParts;
  readonly scopes: Scopes;
  readonly accounts: Accounts;
  readonly describe: DescribeToken;
  readonly findClient: (id: string) => Promise<Client | undefined>;
}

interface TokenRecord {
  readonly jti: string;
  readonly clientId: string;
  readonly accountId?: string;
  readonly scope?: string;
  readonly sid?: string;
  readonly iat?: number;
  readonly exp?: number;
  readonly structured?: boolean;
  readonly jkt?: string;
  readonly 'x5t#S256'?: string;
  readonly aud?: string;
}

/** Who has a plain token may use it: it is not signed, and not bound to a key or a resource. @see RFC 9449 §6, RFC 8705 §3, RFC 8707 §2 */
const isPlain = ({ structured, jkt, 'x5t#S256': x5t, aud }: TokenRecord): boolean =>
  !structured && jkt === undefined && x5t === undefined && aud === undefined;

/** @see RFC 7662 §2 */
export const createDirectIntrospection =
  ({ parts, describe, findClient }: DirectParts): DirectAnswer =>
  async (ctx) => {
    const form = await plainForm(ctx);
    if (!form) return false;
    const { token: value } = form.fields;
    const caller = await authenticated(form, findClient);
    if (!caller || !value || isSignedOrRefreshable(value)) return false;
    const answer = await introspected(parts, describe, ctx, caller, value);
    if (!answer) return false;
    (ctx.state as CallerState).caller = callerOf(caller) as Caller;
    send(ctx, answer);
    return true;
  };

const secretMethods = new Set<unknown>(['client_secret_basic', 'client_secret_post']);

/** The client that the form's secret belongs to. */
export async function authenticated({ clientId, secret }: PlainForm, findClient: DirectParts['findClient']): Promise<Client | undefined> {
  const client = await findClient(clientId);
  const { secrets = [] } = callerOf(client) ?? {};
  return client && secretMethods.has(client.clientAuthMethod) && isLiveSecret(secrets, secret) ? client : undefined;
}

/** Whether a refresh token that was used is still good is for the model adapter to say. */
const isSignedOrRefreshable = (value: string): boolean => /[.~]/.test(value) || kindOfToken(value) === 'RefreshToken';

const inactive = { active: false };

/** Undefined for a token of which there is more to tell. */
async function introspected(
  parts: OidcParts,
  describe: DescribeToken,
  ctx: Context,
  caller: Client,
  value: string,
): Promise<object | undefined> {
  const kind = kindOfToken(value);
  const found = kind && (await parts.adapters.tokens.find(parts.adapters.unitOf(ctx), kind, value));
  const token = found?.token as TokenRecord | undefined;
  if (!found || !token || token.structured) return inactive;
  const { login } = (found.grant ?? {}) as unknown as Partial<GrantRecord>;
  if (!isPlain(token) || (found.grant && !login)) return undefined;
  const description = await describe(ctx, caller, token, login);
  if (!description) return inactive;
  return {
    active: true,
    ...description.members,
    client_id: token.clientId,
    exp: token.exp,
    iat: token.iat,
    sid: token.sid,
    iss: parts.options.issuer,
    jti: publicJti(token.jti),
    aud: description.aud,
    scope: token.scope || undefined,
    token_type: 'Bearer',
  };
}

/** @see RFC 7009 §2 */
export const createDirectRevocation =
  ({ parts: { adapters }, findClient }: DirectParts): DirectAnswer =>
  async (ctx) => {
    const form = await plainForm(ctx);
    if (!form) return false;
    const { token: value } = form.fields;
    const caller = await authenticated(form, findClient);
    const kind = value === undefined ? undefined : kindOfToken(value);
    const unit = adapters.unitOf(ctx);
    const found = caller && value && kind ? await adapters.tokens.find(unit, kind, value) : undefined;
    const token = found?.token as (TokenRecord & AdapterPayload) | undefined;
    if (!value || !kind || !token || token.structured || token.clientId !== caller?.clientId) return false;
    adapters.tokens.revoke(unit, kind, value, token);
    await unit.commit();
    ctx.status = 200;
    ctx.set(plainHeaders);
    ctx.body = '';
    return true;
  };

/** @see OpenID Connect Core §5.3 */
export const createDirectUserinfo =
  ({ parts, accounts, scopes: { held }, findClient }: DirectParts): DirectAnswer =>
  async (ctx) => {
    const value = plainBearer(ctx);
    const found = value === undefined ? undefined : await parts.adapters.tokens.find(parts.adapters.unitOf(ctx), 'AccessToken', value);
    if (!found?.grant) return false;
    const token = found.token as TokenRecord & { readonly accountId: string };
    const { login, openid } = found.grant as unknown as GrantRecord;
    const scopes = new Set(token.scope?.split(' '));
    const client = await findClient(token.clientId);
    const record = clientOf(client);
    if (!login || !client || !record || !isPlain(token) || !scopes.has('openid') || answersInJwt(client)) return false;
    const account = await accounts.loadUsable(ctx, token.accountId, login, client);
    if (!account) return false;
    const granted = new Set(held(ctx, record, openid?.scope?.split(' ').filter((scope) => scopes.has(scope)) ?? []));
    const claims = await accounts.claimsOf(account, 'userinfo', granted, { client, login });
    send(ctx, { sub: pseudonymOf(parts, client)?.(login.sub) ?? login.sub, ...claims });
    return true;
  };

const answersInJwt = ({ userinfoSignedResponseAlg, userinfoEncryptedResponseAlg }: Client): boolean =>
  (userinfoSignedResponseAlg ?? userinfoEncryptedResponseAlg) !== undefined;

export function send(ctx: Context, body: object): void {
  ctx.set(plainHeaders);
  ctx.set('Content-Type', 'application/json; charset=utf-8');
  ctx.body = JSON.stringify(body);
}

const plainHeaders = { Vary: 'Origin', 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': 'WWW-Authenticate' };
