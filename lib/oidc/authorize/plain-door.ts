/**
 * The door for nearly all authorization requests: a GET for a code, in a browser whose sign-in and grant answer the request without a page.
 *
 * The door answers successes. All other requests go through the door to oidc-provider, and the door has no effect on these requests. The door decides
 * nothing itself: it calls the same steps and the same rules, in the same order.
 */
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { Client, KoaContextWithOIDC } from 'oidc-provider';
import { UnavailableError } from '../../errors.js';
import { present } from '../../present.js';
import { epochSeconds } from '../../times/epoch-seconds.js';
import { nodeSeconds } from '../../times/node-time.js';
import type { Accounts } from '../accounts/account.js';
import type { OurSession } from '../accounts/login-context.js';
import type { Scopes } from '../accounts/scopes.js';
import { createId, pushedIdOf } from '../artifacts/ids.js';
import { clientOf } from '../clients/clients.js';
import { isOfProfile } from '../clients/fapi.js';
import type { OidcParts } from '../context.js';
import { createGrantFinder } from '../sessions/grants.js';
import {
  asksForPrompt,
  checkParameters,
  codeLifetime,
  conclude,
  inContext,
  leaveContext,
  liveSession,
  takeGrant,
  takeParameters,
  takePushed,
} from '../upstream/authorization.js';
import { findClient } from '../upstream/client.js';
import type { ProviderHooks } from '../upstream/provider.js';
import { carriedParameter, codeRequestOf, isRequestParameter } from './parameters.js';
import { createPushedAnswer } from './pushed-requests.js';
import { completeResponse } from './response.js';

/** Answers a request. Returns false if the request is left to oidc-provider. */
export type PlainAuthorization = (ctx: Context, provider: Provider) => Promise<boolean>;

interface Door {
  readonly parts: OidcParts;
  readonly accounts: Accounts;
  readonly findGrant: ReturnType<typeof createGrantFinder>;
  readonly respond: ProviderHooks['respond'];
}

/** @param respond sends the response, as for oidc-provider. */
export function createPlainAuthorization(
  parts: OidcParts,
  accounts: Accounts,
  scopes: Scopes,
  respond: ProviderHooks['respond'],
): PlainAuthorization {
  const door: Door = { parts, accounts, findGrant: createGrantFinder(parts, scopes), respond };
  return async (ctx, provider) => {
    if (ctx.method !== 'GET' || ctx.req.headers.dpop !== undefined || !hasPlainNames(ctx.query)) return false;
    const { query } = ctx;
    const isAnswered = await inContext(provider, ctx, 'authorization', (inner) => run(door, inner));
    if (!isAnswered) leaveContext(ctx, query);
    return isAnswered;
  };
}

/** Parameters of a plain request. */
const plainParameters: ReadonlySet<string> = new Set([
  'client_id',
  'redirect_uri',
  'response_type',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'prompt',
  'ui_locales',
]);

/** Answers a pushed request of an authenticated client. Returns false if the request is left to oidc-provider. */
export type PlainPushed = (ctx: Context, client: Client, fields: Readonly<Record<string, string | undefined>>) => Promise<boolean>;

/**
 * Creates the answer to pushed requests of plain parameters. The parameters are checked as at the authorization endpoint, and stored by
 * {@link createPushedAnswer}. The calling code commits.
 */
export function createPlainPushed(parts: OidcParts, provider: () => Provider): PlainPushed {
  const answerPushed = createPushedAnswer(parts);
  return (ctx, client, fields) =>
    inContext(provider(), ctx, 'pushed_authorization_request', async (inner) => {
      if (!(await isPlainlyPushed(parts, inner, client, fields).catch(() => false))) return false;
      await answerPushed(inner, async () => {});
      return true;
    });
}

async function isPlainlyPushed(
  { internalClients }: OidcParts,
  ctx: KoaContextWithOIDC,
  client: Client,
  fields: Parameters<PlainPushed>[2],
): Promise<boolean> {
  const { oidc } = ctx;
  const record = clientOf(client);
  if (!record || internalClients.isInternal(record) || client.requireSignedRequestObject) return false;
  for (const name in fields) if (!plainParameters.has(name) && name !== 'client_secret' && isRequestParameter(name)) return false;
  oidc.entity('Client', client);
  Object.assign(oidc, { body: fields });
  takeParameters(ctx);
  if (isOfProfile(ctx) || !hasPlainValues(oidc.params as never)) return false;
  await checkParameters(ctx);
  return hasPlainValues(oidc.params as never);
}

/** Returns whether each parameter occurs once and has a value, and is plain or a custom parameter, or whether the request is only a reference. */
function hasPlainNames(query: Context['query']): boolean {
  const { request_uri: uri } = query;
  if (uri !== undefined) return isReference(query);
  for (const name in query) {
    const value = query[name];
    if (typeof value !== 'string' || value === '' || (!plainParameters.has(name) && isRequestParameter(name))) return false;
  }
  return query.client_id !== undefined && query.response_type === 'code';
}

function isReference({ client_id: clientId, request_uri: uri, ...others }: Context['query']): boolean {
  if (typeof clientId !== 'string' || clientId === '' || typeof uri !== 'string') return false;
  return pushedIdOf(uri) !== undefined && Object.keys(others).length === 0;
}

/** Returns whether all parameters are plain, after the defaults of the client were added, or a pushed request was read. */
function hasPlainValues(params: Readonly<Record<string, unknown>>): boolean {
  for (const name in params) {
    const value = params[name];
    if (value !== undefined && name !== carriedParameter && !(plainParameters.has(name) && typeof value === 'string')) return false;
  }
  return params.response_type === 'code' && (params.prompt === undefined || params.prompt === 'none');
}

async function run(door: Door, ctx: KoaContextWithOIDC): Promise<boolean> {
  try {
    if (!(await isPlainlyFine(door, ctx))) return false;
  } catch (error) {
    // A second attempt would wait for the store once more.
    if (!(error instanceof UnavailableError)) return false;
    await conclude(ctx, () => Promise.reject(error));
    return true;
  }
  await conclude(ctx, () => answer(door, ctx));
  return true;
}

/** Makes the code and sends the response: actions/authorization/respond.js */
async function answer({ parts, respond }: Door, ctx: KoaContextWithOIDC): Promise<void> {
  const { oidc } = ctx;
  const { state, redirect_uri: redirectUri } = oidc.params as Readonly<Record<string, string | undefined>>;
  await (oidc.entities.PushedAuthorizationRequest as { consume(): Promise<void> } | undefined)?.consume();
  const out: Record<string, unknown> = { code: putCode(parts, ctx), ...present({ state }), iss: oidc.issuer };
  completeResponse(ctx, out);
  await respond('query', ctx, redirectUri as string, out, async () => {});
}

/** Members of `ctx.oidc` of a request that passed every check. */
interface Granted {
  readonly client: Client;
  readonly grant: { getOIDCScopeFiltered(scopes: ReadonlySet<string>): string };
  readonly session: OurSession & { authorizationFor(clientId: string): { persistsLogout?: true }; authTime(): number };
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly acr: string | undefined;
  readonly amr: readonly string[] | undefined;
  readonly claims: object;
  readonly requestParamScopes: ReadonlySet<string>;
}

/** Puts a code into the unit of work, and returns it: `codeHandler` of helpers/process_response_types.js, for a request without resources. */
function putCode({ adapters, now }: OidcParts, ctx: KoaContextWithOIDC): string {
  const { client, grant, session, params, acr, amr, claims, requestParamScopes } = ctx.oidc as unknown as Granted;
  const { clientId } = client;
  const grantId = session.grantIdFor(clientId);
  const exp = nodeSeconds() + codeLifetime(ctx);
  session.authorizationFor(clientId).persistsLogout = true;
  const id = createId('AuthorizationCode', grantId);
  const members = {
    clientId,
    grantId,
    accountId: session.accountId,
    acr,
    amr,
    authTime: session.authTime(),
    claims: Object.keys(claims).length === 0 ? undefined : claims,
    nonce: params.nonce,
    scope: grant.getOIDCScopeFiltered(requestParamScopes),
    sid: session.sidFor(clientId),
    codeChallenge: params.code_challenge,
    codeChallengeMethod: params.code_challenge_method,
    redirectUri: params.redirect_uri,
    ...codeRequestOf(ctx),
  };
  adapters.tokens.put(adapters.unitOf(ctx), 'AuthorizationCode', id, { iat: epochSeconds(now()), ...members } as never, exp);
  return id;
}

/** Returns whether the response is a code. Only reads. */
async function isPlainlyFine({ parts, accounts, findGrant }: Door, ctx: KoaContextWithOIDC): Promise<boolean> {
  const { oidc, query } = ctx;
  const session = await liveSession(ctx, isPlainSession);
  if (!session) return false;
  oidc.entity('Session', session);
  Object.assign(oidc, { session });
  takeParameters(ctx);
  const client = await findClient(oidc.provider, query.client_id as string);
  if (!client) return false;
  oidc.entity('Client', client);
  if (!isPlainClient(parts, client) || isOfProfile(ctx)) return false;
  await takePushed(ctx);
  const params = oidc.params as Readonly<Record<string, unknown>>;
  if (!hasPlainValues(params)) return false;
  await checkParameters(ctx);
  if (!hasPlainValues(oidc.params as typeof params)) return false;
  const account = await accounts.findPlainly(ctx, session);
  if (!account) return false;
  oidc.entity('Account', account);
  const grant = await findGrant(ctx);
  if (!grant || grant.accountId !== account.accountId || grant.clientId !== client.clientId) return false;
  takeGrant(ctx, grant);
  return !(await asksForPrompt(ctx));
}

/** Returns whether a user is signed in, and neither impersonates a user nor is impersonated. */
const isPlainSession = ({ accountId, loginTs, act, aside, impersonation, actsAs }: OurSession): boolean =>
  accountId !== undefined && loginTs !== undefined && [act, aside, impersonation, actsAs].every((member) => member === undefined);

function isPlainClient({ internalClients }: OidcParts, client: Client): boolean {
  const record = clientOf(client);
  return record !== undefined && !internalClients.isInternal(record) && !record.requireConsent;
}
