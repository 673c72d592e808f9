/**
 * Two doors to the handlers of the token endpoints.
 *
 * Nearly all requests come by the door in this file: a form of a client with a secret, with an assertion or without credentials, or a GET with a bearer
 * token. The endpoint's handler answers the request without oidc-provider, for a fraction of the work. A refusal of the handler is the answer.
 *
 * Requests that are unusual in any way, clients that do not authenticate, and origins that a client does not allow, go through `provider-door`. `plain-request`
 * reads the requests, and `plain-answer` sends the answers.
 */
import type { Context } from 'koa';
import { type Client, errors } from 'oidc-provider';
import type { Awaitable } from '../../../awaitable.js';
import { isLiveSecret, LONGEST_URI } from '../../../directory/index.js';
import type { GrantRecord } from '../../accounts/login-context.js';
import type { Scopes } from '../../accounts/scopes.js';
import type { UnitOfWork } from '../../artifacts/unit-of-work.js';
import type { AcceptAssertion } from '../../clients/assertions.js';
import { type AnswerClient, noteCaller } from '../../clients/authentication.js';
import { callerOf, clientOf, type FindClient } from '../../clients/clients.js';
import { isOriginOf } from '../../clients/origins.js';
import type { SettleFailure } from '../../clients/refusals.js';
import type { OidcParts } from '../../context.js';
import { commitRequest } from '../../sessions/sessions.js';
import { tokenIn } from '../access-token-jwt.js';
import type { SpentTokenRules } from '../grants/refresh-token.js';
import type { TokenRequest } from '../token-request.js';
import type { UserinfoRequest } from '../userinfo.js';
import { createAnswers, type Endpoint, type PlainAnswers } from './plain-answer.js';
import { isScope, type PlainContext, type PlainForm, plainBearer, plainForm } from './plain-request.js';
import type { Handlers } from './provider-door.js';
import type { Redeem } from './redeem.js';

/** Answers a request. Returns false if the request is left to the other door, and has no effect then. */
type Answer = (ctx: Context) => Promise<boolean>;

/** A request that names a client. The client has not authenticated yet. */
interface Call {
  readonly ctx: PlainContext;
  readonly endpoint: Endpoint;
  readonly caller: Client;
  readonly form: PlainForm;
  readonly unit: UnitOfWork;
}

/**
 * Returns the function that answers a call after the client authenticated. Undefined if the other door has to answer. The plan makes every check that
 * decides about the door, because an assertion can be used only once.
 */
type Plan = (door: PlainDoorParts, call: Call) => (() => Promise<object | ''>) | undefined;

export interface PlainDoorParts {
  readonly parts: OidcParts;
  readonly handlers: Handlers;
  readonly scopes: Pick<Scopes, 'prepare'>;
  readonly findClient: FindClient;
  readonly acceptAssertion: AcceptAssertion;
  readonly admit: SpentTokenRules['admit'];
  readonly redeem: Redeem;
  /** Answers the backchannel authentication endpoint, if an extension does. */
  readonly answerClient: AnswerClient | undefined;
  /**
   * Checks and puts the pushed request of an authenticated client, and sets its answer. Returns false if the request is left to the other door. The calling
   * code commits.
   */
  readonly answerPushed: (ctx: Context, client: Client, fields: PlainForm['fields']) => Promise<boolean>;
  readonly settleFailure: SettleFailure;
}

export interface PlainDoor {
  readonly answers: Readonly<Record<Endpoint, Answer>>;
  /**
   * Answers an introspection or userinfo request for which no Koa context exists. Returns false if the request needs a context. The request has had no
   * effect then. If the request failed, the error is answered after the request has a context.
   */
  withoutContext(ctx: PlainContext, endpoint: 'introspection' | 'userinfo'): Promise<boolean>;
}

export function createPlainDoor(door: PlainDoorParts): PlainDoor {
  const answers = createAnswers(door);
  /** Failures of requests without a context. A request that failed is not run again. */
  const failures = new WeakMap<object, Failure>();
  const answer =
    (endpoint: Endpoint, bodyOf: BodyOf): Answer =>
    async (ctx) => {
      const found: Found = { unit: door.parts.adapters.unitOf(ctx), client: undefined };
      try {
        const failure = failures.get(ctx.req);
        if (failure) {
          found.client = failure.client;
          throw failure.error;
        }
        const body = await bodyOf(ctx, found);
        return body !== undefined && answers.send(ctx, endpoint, body);
      } catch (error) {
        return answers.refuse({ ctx, endpoint, ...found }, error as Error);
      }
    };
  const ofForm =
    (endpoint: Endpoint, plan: Plan): BodyOf =>
    (ctx, found) =>
      bodyOfCall(door, { ctx, endpoint, plan, found });
  const withoutContext: Readonly<Record<'introspection' | 'userinfo', BodyOf>> = {
    introspection: ofForm('introspection', planPlainIntrospection),
    userinfo: (ctx, found) => bodyOfUserinfo(door, ctx, found),
  };
  return {
    answers: {
      token: answer('token', ofForm('token', planToken)),
      introspection: answer('introspection', ofForm('introspection', planIntrospection)),
      revocation: answer('revocation', ofForm('revocation', planRevocation)),
      backchannel_authentication: answer('backchannel_authentication', ofForm('backchannel_authentication', planBackchannel)),
      userinfo: answer('userinfo', (ctx, found) => bodyOfUserinfo(door, ctx, found)),
      pushed_authorization_request: (ctx) => answerPushed(door, answers, ctx),
    },
    async withoutContext(ctx, endpoint) {
      const found: Found = { unit: door.parts.adapters.unitOf(ctx), client: undefined };
      try {
        const preparing = door.scopes.prepare(ctx);
        if (preparing instanceof Promise) await preparing;
        const body = await withoutContext[endpoint](ctx, found);
        return typeof body === 'object' && answers.sendWithoutContext(ctx, endpoint, body);
      } catch (error) {
        failures.set(ctx.req, { error, client: found.client });
        return false;
      }
    },
  };
}

interface Failure {
  readonly error: unknown;
  readonly client: Client | undefined;
}

/** Members of a request that are known before it is answered. */
interface Found {
  readonly unit: UnitOfWork;
  client: Client | undefined;
}

/** Returns the body of the answer. Undefined if the request is left to the other door. */
type BodyOf = (ctx: PlainContext, found: Found) => Promise<object | '' | undefined>;

interface Asked extends Pick<Call, 'ctx' | 'endpoint'> {
  readonly plan: Plan;
  readonly found: Found;
}

async function bodyOfCall(door: PlainDoorParts, { ctx, endpoint, plan, found }: Asked): Promise<object | '' | undefined> {
  const form = plainForm(ctx);
  if (!form) return undefined;
  const finding = validClient(door, form.clientId);
  const caller = finding instanceof Promise ? await finding : finding;
  found.client = caller;
  const call = caller && isPlainCaller(door, ctx, endpoint, caller) ? { ctx, endpoint, caller, form, unit: found.unit } : undefined;
  const run = call && plan(door, call);
  if (!run) return undefined;
  const authenticating = isAuthenticated(door, call);
  if (!(authenticating instanceof Promise ? await authenticating : authenticating)) return undefined;
  noteCaller(ctx, call.caller);
  return run();
}

const planToken: Plan = ({ handlers, admit, redeem }, { ctx: plain, caller: client, form: { fields: parameters }, unit }) => {
  const grantType = parameters.grant_type ?? '';
  const handler = handlers.grantTypes.get(grantType);
  const record = clientOf(client);
  if (!handler || !record || !hasPlainValues(parameters) || !client.grantTypeAllowed(grantType)) return undefined;
  const ctx = plain as Context;
  const request: TokenRequest = { ctx, unit, client, record, parameters, proof: () => undefined };
  return async () => {
    await admit(request);
    return redeem(grantType, request, () => handler(request));
  };
};

const planBackchannel: Plan = ({ answerClient }, { ctx, caller: client, form: { fields: parameters } }) => {
  const record = clientOf(client);
  return answerClient && record && (() => answerClient({ ctx: ctx as Context, client, record, parameters }));
};

const planIntrospection: Plan = ({ handlers }, { ctx, caller, form, unit }) => {
  const { token } = form.fields;
  return token === undefined ? undefined : () => handlers.introspect({ ctx, unit, caller, token: tokenIn(token) });
};

const planRevocation: Plan = ({ handlers }, { ctx, caller, form, unit }) => {
  const { token } = form.fields;
  if (token === undefined) return undefined;
  return async () => {
    await handlers.revoke({ ctx, unit, caller, token: tokenIn(token) });
    await unit.commit();
    return '';
  };
};

/** Leaves out assertions, because a request whose assertion was used cannot be sent on. */
const planPlainIntrospection: Plan = (door, call) => (call.form.assertion === undefined ? planIntrospection(door, call) : undefined);

async function bodyOfUserinfo(
  { parts: { adapters }, findClient, handlers }: PlainDoorParts,
  ctx: PlainContext,
  found: Found,
): Promise<object | undefined> {
  const value = plainBearer(ctx);
  const live = value === undefined ? undefined : await adapters.tokens.find(found.unit, 'AccessToken', value);
  if (!live?.grant || !isPlainToken(live.token)) return undefined;
  const { grant, token } = live as unknown as { grant: GrantRecord; token: UserinfoRequest['token'] };
  const client = await findClient(grant.clientId);
  found.client = client;
  if (!client || !isAllowedOrigin(ctx, client)) return undefined;
  const body = await handlers.userinfo({ ctx, client, token, grant });
  if (!body) throw new errors.InvalidToken('associated account not found');
  return body;
}

/**
 * Answers a pushed request whose parameters are plain. Leaves every refusal to the other door. Clients with an assertion also go there, because the checks
 * of the parameters write a log line about the client, which has to be authenticated first.
 */
async function answerPushed(door: PlainDoorParts, answers: PlainAnswers, ctx: Context): Promise<boolean> {
  const endpoint = 'pushed_authorization_request';
  const form = plainForm(ctx);
  // A custom parameter without a value is part of the request.
  if (!form || form.hasEmpty || form.assertion !== undefined) return false;
  const caller = await Promise.resolve(validClient(door, form.clientId)).catch(() => undefined);
  if (!caller || !isPlainCaller(door, ctx, endpoint, caller)) return false;
  const unit = door.parts.adapters.unitOf(ctx);
  if (isAuthenticated(door, { ctx, endpoint, caller, form, unit }) !== true) return false;
  if (!(await door.answerPushed(ctx, caller, form.fields))) return false;
  noteCaller(ctx, caller);
  answers.send(ctx, endpoint, ctx.body as object);
  await commitRequest(unit);
  return true;
}

/** Returns the client, unless oidc-provider refuses its metadata. The other door answers such a client. */
function validClient({ findClient }: PlainDoorParts, id: string): ReturnType<FindClient> {
  const found = findClient(id);
  return found instanceof Promise ? found.catch(unlessInvalid) : found;
}

function unlessInvalid(error: unknown): undefined {
  if (!(error instanceof errors.InvalidClientMetadata)) throw error;
}

/** Returns whether the door may answer the client. oidc-provider answers clients of FAPI 2.0. */
const isPlainCaller = ({ parts: { isFapi2 } }: PlainDoorParts, ctx: PlainContext, endpoint: Endpoint, caller: Client): boolean =>
  !isFapi2(clientOf(caller)) && (endpoint === 'backchannel_authentication' || isAllowedOrigin(ctx, caller));

/** Returns whether the origin of the request, if there is one, is allowed for the client. oidc-provider refuses all other origins. */
const isAllowedOrigin = ({ req: { headers } }: PlainContext, client: Client): boolean =>
  headers.origin === undefined || isOriginOf(client, headers.origin);

/** Returns whether the client authenticates by the method for which it is registered. A public client sends its id alone. */
function isAuthenticated({ parts, acceptAssertion }: PlainDoorParts, { ctx, endpoint, caller: client, form }: Call): Awaitable<boolean> {
  const { secret, assertion } = form;
  switch (client.clientAuthMethod) {
    case 'none':
      return secret === undefined && assertion === undefined;
    case 'client_secret_basic':
    case 'client_secret_post':
      return secret !== undefined && isLiveSecret(callerOf(client)?.secrets ?? [], secret, parts.now());
    case 'private_key_jwt':
      return assertion !== undefined && acceptAssertion({ ctx, client, endpoint, assertion });
    default:
      return false;
  }
}

/** Returns whether oidc-provider would pass the parameters of a token request to the handler. oidc-provider refuses all other requests itself. */
const hasPlainValues = ({ scope, redirect_uri: redirectUri = '' }: PlainForm['fields']): boolean =>
  isScope(scope) && redirectUri.length <= LONGEST_URI;

/** Returns whether the token is a plain bearer token: not signed, and not bound to a key or a resource. @see RFC 9449 §7, RFC 8705 §3, RFC 8707 §2 */
const isPlainToken = ({ structured, jkt, aud, scope, ...token }: Readonly<Record<string, unknown>>): boolean =>
  !structured && jkt === undefined && token['x5t#S256'] === undefined && aud === undefined && String(scope).split(' ').includes('openid');
