/**
 * The doors to the handlers of the token endpoints.
 *
 * Nearly all requests come by the one in this file: a form with a client's secret, a GET with a bearer token. The endpoint's handler answers them
 * without oidc-provider, for a fraction of the work. Whatever is in any way unusual, and every refusal, goes through `provider-door` to the same
 * handler.
 */
import type { Context } from 'koa';
import { type Client, errors } from 'oidc-provider';
import { type Awaitable, onceThere } from '../../../awaitable.js';
import { isLiveSecret } from '../../../directory/index.js';
import { answerTo } from '../../../http/error-answers.js';
import type { GrantRecord } from '../../accounts/login-context.js';
import { LostWrite } from '../../artifacts/lost-writes.js';
import type { UnitOfWork } from '../../artifacts/unit-of-work.js';
import { type AnswerClient, noteCaller } from '../../clients/authentication.js';
import { callerOf, clientOf, type FindClient } from '../../clients/clients.js';
import type { OidcParts } from '../../context.js';
import { tokenIn } from '../access-token-jwt.js';
import type { TokenResponse } from '../token-request.js';
import type { UserinfoRequest } from '../userinfo.js';
import { type PlainForm, plainBearer, plainForm } from './plain-request.js';
import type { Handlers } from './provider-door.js';

/** Answers a request, or tells that it did not. */
type Answer = (ctx: Context) => Promise<boolean>;

/** A request whose client authenticated. */
interface Call {
  readonly ctx: Context;
  readonly caller: Client;
  readonly fields: PlainForm['fields'];
  readonly unit: UnitOfWork;
}

export interface PlainDoorOptions {
  readonly parts: OidcParts;
  readonly handlers: Handlers;
  readonly findClient: FindClient;
  /** What an extension answers at the backchannel authentication endpoint. */
  readonly answerClient: AnswerClient | undefined;
}

/** By endpoint. */
export type PlainDoor = Readonly<Record<'token' | 'introspection' | 'revocation' | 'userinfo' | 'backchannel_authentication', Answer>>;

export function createPlainDoor({ parts: { adapters, now, isFapi2 }, handlers, findClient, answerClient }: PlainDoorOptions): PlainDoor {
  /** A form whose client authenticated by its secret. */
  const callOf = (ctx: Context): Awaitable<Call | undefined> =>
    onceThere(plainForm(ctx), (form) => form && onceThere(validClient(form.clientId), (client) => callFrom(ctx, form, client)));

  /** Returns the client, unless oidc-provider refuses its metadata. The other door answers such a client. */
  function validClient(id: string): ReturnType<FindClient> {
    const found = findClient(id);
    return found instanceof Promise ? found.catch(unlessInvalid) : found;
  }

  function callFrom(ctx: Context, form: PlainForm, caller: Client | undefined): Call | undefined {
    // Clients of FAPI 2.0 have no secret. The other door refuses one whose row is older than the profile.
    if (!isAuthenticated(caller, form, now()) || isFapi2(clientOf(caller))) return undefined;
    noteCaller(ctx, caller);
    return { ctx, caller, fields: form.fields, unit: adapters.unitOf(ctx) };
  }

  return {
    async token(ctx) {
      const call = await callOf(ctx);
      const grantType = call?.fields.grant_type ?? '';
      const handler = handlers.grantTypes.get(grantType);
      const record = clientOf(call?.caller);
      if (!call || !handler || !record || !call.caller.grantTypeAllowed(grantType)) return false;
      const { caller: client, unit, fields: parameters } = call;
      let body: TokenResponse;
      try {
        body = await handler({ ctx, unit, client, record, parameters, proof: () => undefined, isRetryAdmitted: false });
        await unit.commit();
      } catch (error) {
        unit.reset();
        if (!isRefusal(error)) throw error;
        return false;
      }
      return send(ctx, body);
    },

    async backchannel_authentication(ctx) {
      const call = answerClient && (await callOf(ctx));
      const record = clientOf(call?.caller);
      if (!call || !record) return false;
      try {
        const body = await answerClient({ ctx, client: call.caller, record, parameters: call.fields });
        return send(ctx, body, uncached);
      } catch (error) {
        if (!isRefusal(error)) throw error;
        return false;
      }
    },

    async introspection(ctx) {
      const call = await callOf(ctx);
      const token = call?.fields.token;
      if (!token) return false;
      const { caller, unit } = call;
      return send(ctx, await handlers.introspect({ ctx, unit, caller, token: tokenIn(token) }));
    },

    async revocation(ctx) {
      const call = await callOf(ctx);
      const token = call?.fields.token;
      if (!token) return false;
      const { caller, unit } = call;
      await handlers.revoke({ ctx, unit, caller, token: tokenIn(token) });
      await unit.commit();
      ctx.status = 200;
      setHeaders(ctx, readable);
      ctx.body = '';
      return true;
    },

    async userinfo(ctx) {
      const value = plainBearer(ctx);
      const found = value === undefined ? undefined : await adapters.tokens.find(adapters.unitOf(ctx), 'AccessToken', value);
      if (!found?.grant || !isPlainToken(found.token)) return false;
      const { grant, token } = found as unknown as { grant: GrantRecord; token: UserinfoRequest['token'] };
      const client = await findClient(grant.clientId);
      const body = client && (await handlers.userinfo({ ctx, client, token, grant }));
      return body ? send(ctx, body) : false;
    },
  };
}

function unlessInvalid(error: unknown): undefined {
  if (!(error instanceof errors.InvalidClientMetadata)) throw error;
}

const secretMethods = new Set<unknown>(['client_secret_basic', 'client_secret_post']);

/** Whether the form's secret is the client's. */
const isAuthenticated = (client: Client | undefined, { secret }: PlainForm, now: number): client is Client =>
  client !== undefined && secretMethods.has(client.clientAuthMethod) && isLiveSecret(callerOf(client)?.secrets ?? [], secret, now);

/** Refused, or spent by another request meanwhile: for the other door to answer. */
const isRefusal = (error: unknown): boolean =>
  error instanceof LostWrite || error instanceof errors.OIDCProviderError || answerTo(error).status < 500;

/** Whoever has the token may use it here: it is not signed, nor bound to a key or a resource. @see RFC 9449 §7, RFC 8705 §3, RFC 8707 §2 */
const isPlainToken = ({ structured, jkt, aud, scope, ...token }: Readonly<Record<string, unknown>>): boolean =>
  !structured && jkt === undefined && token['x5t#S256'] === undefined && aud === undefined && String(scope).split(' ').includes('openid');

/** As an object, as at the other door: middleware of extensions about an endpoint may look into it. */
function send(ctx: Context, body: object, headers: Headers = readable): true {
  setHeaders(ctx, headers);
  ctx.res.setHeader('Content-Type', 'application/json; charset=utf-8');
  ctx.body = body;
  return true;
}

type Headers = readonly (readonly [name: string, value: string])[];

/** By Node's own method, because every answer has them and Koa's looks at each twice. */
function setHeaders({ res }: Context, headers: Headers): void {
  for (const [name, value] of headers) res.setHeader(name, value);
}

/** @see RFC 6749 §5.1 */
export const notCached = { 'Cache-Control': 'no-store', Pragma: 'no-cache' };
const uncached: Headers = Object.entries(notCached);

/** Scripts of every origin may read it. */
const readable: Headers = [
  ['Vary', 'Origin'],
  ['Access-Control-Allow-Origin', '*'],
  ['Access-Control-Expose-Headers', 'WWW-Authenticate'],
  ...uncached,
];
