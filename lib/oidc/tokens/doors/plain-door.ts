/**
 * Two doors to the handlers of the token endpoints.
 *
 * Nearly all requests come by the door in this file: a form with a client's secret, or a GET with a bearer token. The endpoint's handler answers the
 * request without oidc-provider, for a fraction of the work. A refusal of the handler is the answer.
 *
 * Requests that are unusual in any way, and clients that do not authenticate, go through `provider-door` to the same handler.
 */
import type { Context } from 'koa';
import { type Client, errors } from 'oidc-provider';
import { type Awaitable, onceThere } from '../../../awaitable.js';
import { isLiveSecret, LONGEST_URI } from '../../../directory/index.js';
import { answerTo } from '../../../http/error-answers.js';
import { challenge } from '../../../http/header-values.js';
import { present } from '../../../present.js';
import type { GrantRecord } from '../../accounts/login-context.js';
import type { UnitOfWork } from '../../artifacts/unit-of-work.js';
import { type AnswerClient, noteCaller } from '../../clients/authentication.js';
import { callerOf, clientOf, type FindClient } from '../../clients/clients.js';
import type { SettleFailure } from '../../clients/refusals.js';
import type { OidcParts } from '../../context.js';
import { commitRequest } from '../../sessions/sessions.js';
import { type AnsweredError, answerOf } from '../../upstream/errors.js';
import { tokenIn } from '../access-token-jwt.js';
import type { SpentTokenRules } from '../grants/refresh-token.js';
import type { TokenRequest } from '../token-request.js';
import type { UserinfoRequest } from '../userinfo.js';
import { isScope, type PlainForm, plainBearer, plainForm } from './plain-request.js';
import type { Handlers } from './provider-door.js';
import type { Redeem } from './redeem.js';

/** Answers a request. Returns false if the request is left to the other door, and has no effect then. */
type Answer = (ctx: Context) => Promise<boolean>;

/** Endpoints that the door answers. */
type Endpoint = 'token' | 'introspection' | 'revocation' | 'userinfo' | 'backchannel_authentication';

/** A request whose client authenticated. */
interface Call {
  readonly ctx: Context;
  readonly caller: Client;
  readonly fields: PlainForm['fields'];
  readonly unit: UnitOfWork;
}

export interface PlainDoorParts {
  readonly parts: OidcParts;
  readonly handlers: Handlers;
  readonly findClient: FindClient;
  readonly admit: SpentTokenRules['admit'];
  readonly redeem: Redeem;
  /** Answers the backchannel authentication endpoint, if an extension does. */
  readonly answerClient: AnswerClient | undefined;
  readonly settleFailure: SettleFailure;
}

/** Answers by endpoint. */
export type PlainDoor = Readonly<Record<Endpoint, Answer>>;

export const createPlainDoor = (door: PlainDoorParts): PlainDoor => ({
  token: (ctx) => answerToken(door, ctx),
  introspection: (ctx) => answerIntrospection(door, ctx),
  revocation: (ctx) => answerRevocation(door, ctx),
  userinfo: (ctx) => answerUserinfo(door, ctx),
  backchannel_authentication: (ctx) => answerBackchannel(door, ctx),
});

async function answerToken(door: PlainDoorParts, ctx: Context): Promise<boolean> {
  const call = await callOf(door, ctx);
  const grantType = call?.fields.grant_type ?? '';
  const handler = door.handlers.grantTypes.get(grantType);
  const record = clientOf(call?.caller);
  if (!call || !handler || !record || !hasPlainValues(call.fields) || !call.caller.grantTypeAllowed(grantType)) return false;
  const { caller: client, unit, fields: parameters } = call;
  const request: TokenRequest = { ctx, unit, client, record, parameters, proof: () => undefined };
  try {
    await door.admit(request);
    return send(ctx, await door.redeem(grantType, request, () => handler(request)));
  } catch (error) {
    return refuse(door, call, 'token', error);
  }
}

async function answerBackchannel(door: PlainDoorParts, ctx: Context): Promise<boolean> {
  const { answerClient } = door;
  const call = answerClient && (await callOf(door, ctx));
  const record = clientOf(call?.caller);
  if (!call || !record) return false;
  try {
    return send(ctx, await answerClient({ ctx, client: call.caller, record, parameters: call.fields }), uncached);
  } catch (error) {
    return refuse(door, call, 'backchannel_authentication', error);
  }
}

async function answerIntrospection(door: PlainDoorParts, ctx: Context): Promise<boolean> {
  const call = await callOf(door, ctx);
  const token = call?.fields.token;
  if (!token) return false;
  const { caller, unit } = call;
  return send(ctx, await door.handlers.introspect({ ctx, unit, caller, token: tokenIn(token) }));
}

async function answerRevocation(door: PlainDoorParts, ctx: Context): Promise<boolean> {
  const call = await callOf(door, ctx);
  const token = call?.fields.token;
  if (!token) return false;
  const { caller, unit } = call;
  await door.handlers.revoke({ ctx, unit, caller, token: tokenIn(token) });
  await unit.commit();
  ctx.status = 200;
  setHeaders(ctx, readable);
  ctx.body = '';
  return true;
}

async function answerUserinfo(door: PlainDoorParts, ctx: Context): Promise<boolean> {
  const { adapters } = door.parts;
  const value = plainBearer(ctx);
  const unit = adapters.unitOf(ctx);
  const found = value === undefined ? undefined : await adapters.tokens.find(unit, 'AccessToken', value);
  if (!found?.grant || !isPlainToken(found.token)) return false;
  const { grant, token } = found as unknown as { grant: GrantRecord; token: UserinfoRequest['token'] };
  const client = await door.findClient(grant.clientId);
  if (!client) return false;
  const body = await door.handlers.userinfo({ ctx, client, token, grant });
  if (body) return send(ctx, body);
  return refuse(door, { ctx, caller: client, unit }, 'userinfo', new errors.InvalidToken('associated account not found'));
}

/** Returns a form whose client authenticated by its secret. */
const callOf = (door: PlainDoorParts, ctx: Context): Awaitable<Call | undefined> =>
  onceThere(plainForm(ctx), (form) => form && onceThere(validClient(door, form.clientId), (client) => callFrom(door, ctx, form, client)));

/** Returns the client, unless oidc-provider refuses its metadata. The other door answers such a client. */
function validClient({ findClient }: PlainDoorParts, id: string): ReturnType<FindClient> {
  const found = findClient(id);
  return found instanceof Promise ? found.catch(unlessInvalid) : found;
}

function unlessInvalid(error: unknown): undefined {
  if (!(error instanceof errors.InvalidClientMetadata)) throw error;
}

function callFrom(
  { parts: { adapters, now, isFapi2 } }: PlainDoorParts,
  ctx: Context,
  form: PlainForm,
  caller: Client | undefined,
): Call | undefined {
  // Clients of FAPI 2.0 have no secret. The other door refuses a client whose row is older than the profile.
  if (!isAuthenticated(caller, form, now()) || isFapi2(clientOf(caller))) return undefined;
  noteCaller(ctx, caller);
  return { ctx, caller, fields: form.fields, unit: adapters.unitOf(ctx) };
}

const secretMethods = new Set<unknown>(['client_secret_basic', 'client_secret_post']);

/** Returns whether the form's secret is the client's. */
const isAuthenticated = (client: Client | undefined, { secret }: PlainForm, now: number): client is Client =>
  client !== undefined && secretMethods.has(client.clientAuthMethod) && isLiveSecret(callerOf(client)?.secrets ?? [], secret, now);

/** Returns whether oidc-provider would pass the parameters of a token request to the handler. oidc-provider refuses all other requests itself. */
const hasPlainValues = ({ scope, redirect_uri: redirectUri = '' }: PlainForm['fields']): boolean =>
  isScope(scope) && redirectUri.length <= LONGEST_URI;

/**
 * Answers a request with the error of its handler, as oidc-provider does, and commits the writes of the request.
 * @throws every error that is not for callers
 * @see RFC 6749 §5.2
 */
async function refuse(
  { parts, settleFailure }: PlainDoorParts,
  { ctx, caller, unit }: Omit<Call, 'fields'>,
  endpoint: Endpoint,
  thrown: unknown,
): Promise<true> {
  if (!(thrown instanceof errors.OIDCProviderError || answerTo(thrown).status < 500)) throw thrown;
  const error = thrown as AnsweredError;
  const { status, body } = answerOf(error);
  ctx.status = status;
  challengeCaller(ctx, endpoint, error, parts.options.issuer);
  send(ctx, body, endpoint === 'backchannel_authentication' ? uncached : readable);
  settleFailure(ctx, error, { endpoint, client: caller.clientId })();
  if (unit.hasWrites) await commitRequest(unit);
  return true;
}

/** @see RFC 6749 §5.2, RFC 6750 §3 */
function challengeCaller(
  ctx: Context,
  endpoint: Endpoint,
  { statusCode, message: error, error_description }: AnsweredError,
  realm: string,
): void {
  if (statusCode !== 401 || ctx.headers.authorization === undefined) return;
  const scheme = endpoint === 'userinfo' ? 'Bearer' : 'Basic';
  ctx.set('WWW-Authenticate', challenge(scheme, present({ realm, error, error_description })));
}

/** Returns whether the token is a plain bearer token: not signed, and not bound to a key or a resource. @see RFC 9449 §7, RFC 8705 §3, RFC 8707 §2 */
const isPlainToken = ({ structured, jkt, aud, scope, ...token }: Readonly<Record<string, unknown>>): boolean =>
  !structured && jkt === undefined && token['x5t#S256'] === undefined && aud === undefined && String(scope).split(' ').includes('openid');

/** Sends the body as an object, as the other door does, because middleware of extensions may read it. */
function send(ctx: Context, body: object, headers: Headers = readable): true {
  setHeaders(ctx, headers);
  ctx.res.setHeader('Content-Type', 'application/json; charset=utf-8');
  ctx.body = body;
  return true;
}

type Headers = readonly (readonly [name: string, value: string])[];

/** Sets headers by Node's own method, because every answer has them and Koa's method reads each header twice. */
function setHeaders({ res }: Context, headers: Headers): void {
  for (const [name, value] of headers) res.setHeader(name, value);
}

/** @see RFC 6749 §5.1 */
export const notCached = { 'Cache-Control': 'no-store', Pragma: 'no-cache' };
const uncached: Headers = Object.entries(notCached);

/** Headers of answers that scripts of every origin may read. */
const readable: Headers = [
  ['Vary', 'Origin'],
  ['Access-Control-Allow-Origin', '*'],
  ['Access-Control-Expose-Headers', 'WWW-Authenticate'],
  ...uncached,
];
