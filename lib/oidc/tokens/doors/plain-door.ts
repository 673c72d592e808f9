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
import type { UnitOfWork } from '../../artifacts/unit-of-work.js';
import type { AcceptAssertion } from '../../clients/assertions.js';
import { type AnswerClient, noteCaller } from '../../clients/authentication.js';
import { callerOf, clientOf, type FindClient } from '../../clients/clients.js';
import { isOriginOf } from '../../clients/origins.js';
import type { SettleFailure } from '../../clients/refusals.js';
import type { OidcParts } from '../../context.js';
import { tokenIn } from '../access-token-jwt.js';
import type { SpentTokenRules } from '../grants/refresh-token.js';
import type { TokenRequest } from '../token-request.js';
import type { UserinfoRequest } from '../userinfo.js';
import { createAnswers, type Endpoint, type PlainAnswers } from './plain-answer.js';
import { isScope, type PlainForm, plainBearer, plainForm } from './plain-request.js';
import type { Handlers } from './provider-door.js';
import type { Redeem } from './redeem.js';

/** Answers a request. Returns false if the request is left to the other door, and has no effect then. */
type Answer = (ctx: Context) => Promise<boolean>;

/** A request that names a client. The client has not authenticated yet. */
interface Call {
  readonly ctx: Context;
  readonly endpoint: Endpoint;
  readonly caller: Client;
  readonly form: PlainForm;
  readonly unit: UnitOfWork;
}

/**
 * Returns the function that answers a call after the client authenticated. Undefined if the other door has to answer. Everything that decides about the door
 * is decided here, because an assertion can be used only once.
 */
type Plan = (door: PlainDoorParts, call: Call) => (() => Promise<object | ''>) | undefined;

export interface PlainDoorParts {
  readonly parts: OidcParts;
  readonly handlers: Handlers;
  readonly findClient: FindClient;
  readonly acceptAssertion: AcceptAssertion;
  readonly admit: SpentTokenRules['admit'];
  readonly redeem: Redeem;
  /** Answers the backchannel authentication endpoint, if an extension does. */
  readonly answerClient: AnswerClient | undefined;
  readonly settleFailure: SettleFailure;
}

/** Answers by endpoint. */
export type PlainDoor = Readonly<Record<Endpoint, Answer>>;

export function createPlainDoor(door: PlainDoorParts): PlainDoor {
  const answers = createAnswers(door);
  const answerForm =
    (endpoint: Endpoint, plan: Plan): Answer =>
    (ctx) =>
      answerCall(door, answers, { ctx, endpoint, plan });
  return {
    token: answerForm('token', planToken),
    introspection: answerForm('introspection', planIntrospection),
    revocation: answerForm('revocation', planRevocation),
    backchannel_authentication: answerForm('backchannel_authentication', planBackchannel),
    userinfo: (ctx) => answerUserinfo(door, answers, ctx),
  };
}

interface Asked extends Pick<Call, 'ctx' | 'endpoint'> {
  readonly plan: Plan;
}

async function answerCall(door: PlainDoorParts, answers: PlainAnswers, { ctx, endpoint, plan }: Asked): Promise<boolean> {
  const reading = plainForm(ctx);
  const form = reading instanceof Promise ? await reading : reading;
  if (!form) return false;
  const unit = door.parts.adapters.unitOf(ctx);
  let caller: Client | undefined;
  try {
    const finding = validClient(door, form.clientId);
    caller = finding instanceof Promise ? await finding : finding;
    const call = caller && isPlainCaller(door, ctx, endpoint, caller) ? { ctx, endpoint, caller, form, unit } : undefined;
    const run = call && plan(door, call);
    if (!run) return false;
    const authenticating = isAuthenticated(door, call);
    if (!(authenticating instanceof Promise ? await authenticating : authenticating)) return false;
    noteCaller(ctx, call.caller);
    return answers.send(ctx, endpoint, await run());
  } catch (error) {
    return answers.refuse({ ctx, endpoint, client: caller, unit }, error as Error);
  }
}

const planToken: Plan = ({ handlers, admit, redeem }, { ctx, caller: client, form: { fields: parameters }, unit }) => {
  const grantType = parameters.grant_type ?? '';
  const handler = handlers.grantTypes.get(grantType);
  const record = clientOf(client);
  if (!handler || !record || !hasPlainValues(parameters) || !client.grantTypeAllowed(grantType)) return undefined;
  const request: TokenRequest = { ctx, unit, client, record, parameters, proof: () => undefined };
  return async () => {
    await admit(request);
    return redeem(grantType, request, () => handler(request));
  };
};

const planBackchannel: Plan = ({ answerClient }, { ctx, caller: client, form: { fields: parameters } }) => {
  const record = clientOf(client);
  return answerClient && record && (() => answerClient({ ctx, client, record, parameters }));
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

async function answerUserinfo({ parts, findClient, handlers }: PlainDoorParts, answers: PlainAnswers, ctx: Context): Promise<boolean> {
  const { adapters } = parts;
  const value = plainBearer(ctx);
  if (value === undefined) return false;
  const unit = adapters.unitOf(ctx);
  let client: Client | undefined;
  try {
    const found = await adapters.tokens.find(unit, 'AccessToken', value);
    if (!found?.grant || !isPlainToken(found.token)) return false;
    const { grant, token } = found as unknown as { grant: GrantRecord; token: UserinfoRequest['token'] };
    client = await findClient(grant.clientId);
    if (!client || !isAllowedOrigin(ctx, client)) return false;
    const body = await handlers.userinfo({ ctx, client, token, grant });
    if (!body) throw new errors.InvalidToken('associated account not found');
    return answers.send(ctx, 'userinfo', body);
  } catch (error) {
    return answers.refuse({ ctx, endpoint: 'userinfo', client, unit }, error as Error);
  }
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
const isPlainCaller = ({ parts: { isFapi2 } }: PlainDoorParts, ctx: Context, endpoint: Endpoint, caller: Client): boolean =>
  !isFapi2(clientOf(caller)) && (endpoint === 'backchannel_authentication' || isAllowedOrigin(ctx, caller));

/** Returns whether the origin of the request, if there is one, is allowed for the client. oidc-provider refuses all other origins. */
const isAllowedOrigin = ({ req: { headers } }: Context, client: Client): boolean =>
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
