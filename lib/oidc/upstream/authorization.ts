/**
 * The authorization endpoint's own steps, for a request that needs few of them. actions/authorization/index.js runs 33 steps, each in a promise, around a
 * copy of the session that watches its members.
 *
 * The steps run in the order of actions/authorization/index.js. Steps are left out if they read only parameters that the request does not have.
 */
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC, Session } from 'oidc-provider';
import { assignClaims } from 'oidc-provider/lib/actions/authorization/claims.js';
import processRequestObject from 'oidc-provider/lib/actions/authorization/process_request_object.js';
import { loadPushedAuthorizationRequest } from 'oidc-provider/lib/actions/authorization/pushed_authorization_requests.js';
import {
  assignDefaults,
  checkExtraParams,
  checkPrompt,
  getAuthorizationParams,
} from 'oidc-provider/lib/actions/authorization/request_parameters.js';
import {
  checkRedirectUri,
  checkResponseMode,
  checkResponseType,
  oauthRequired,
  oidcRequired,
} from 'oidc-provider/lib/actions/authorization/response_parameters.js';
import { checkOpenidScope, checkScope } from 'oidc-provider/lib/actions/authorization/scopes.js';
import { checkPKCE } from 'oidc-provider/lib/actions/authorization/sender_constraints.js';
import als from 'oidc-provider/lib/helpers/als.js';
import { get as insideOf } from 'oidc-provider/lib/helpers/weak_cache.js';
import authorizationErrorHandler from 'oidc-provider/lib/shared/authorization_error_handler.js';
import checkResource from 'oidc-provider/lib/shared/check_resource.js';
import type { Payload } from './base-model.js';
import { emptyParameters } from './request-parameters.js';

const pass = (): void => {};

/**
 * Runs a function in the context that the router gives to an endpoint: helpers/router.js, `ensureOIDC` of helpers/initialize_app.js. The router replaces
 * the context if the function leaves the request to it.
 */
export function inContext<T>(
  provider: Provider,
  ctx: Context,
  route: keyof typeof empties,
  run: (ctx: KoaContextWithOIDC) => Promise<T>,
): Promise<T> {
  const inner = ctx as unknown as KoaContextWithOIDC & { _matchedRouteName: string };
  inner._matchedRouteName = route;
  const { OIDCContext } = provider as unknown as { OIDCContext: new (ctx: object) => KoaContextWithOIDC['oidc'] };
  return als.run(ctx, () => {
    (inner as { oidc: KoaContextWithOIDC['oidc'] }).oidc = new OIDCContext(ctx);
    return run(inner);
  });
}

/** Gives a request of {@link inContext} its own query back. */
export const leaveContext = (ctx: Context, query: Context['query']): void =>
  void Object.defineProperty(ctx, 'query', { configurable: true, writable: true, value: query });

/** Parameters without values, by endpoint and instance, because the features of an instance decide which parameters there are. */
const empties = { authorization: new WeakMap<Provider, Payload>(), pushed_authorization_request: new WeakMap<Provider, Payload>() };

/** Sets `ctx.oidc.params`: shared/assemble_params.js, helpers/params.js */
export function takeParameters(ctx: KoaContextWithOIDC): void {
  const { provider, route } = ctx.oidc;
  const known = empties[route as keyof typeof empties];
  const empty = known.get(provider) ?? emptyParameters(getAuthorizationParams(ctx));
  known.set(provider, empty);
  const params = { ...empty };
  const given: Context['query'] = ctx.method === 'POST' ? (ctx.oidc.body as Context['query']) : ctx.query;
  for (const name in given) if (Object.hasOwn(empty, name)) params[name] = given[name] || undefined;
  Object.assign(ctx.oidc, { params });
}

/**
 * Replaces a reference by the parameters of the pushed request. Does not use the reference up. Also refuses a request that had to be pushed, or to be a
 * request object.
 */
export async function takePushed(ctx: KoaContextWithOIDC): Promise<void> {
  await loadPushedAuthorizationRequest(ctx, pass);
  await processRequestObject(ctx, pass);
}

/** Checks the parameters, which may have been pushed. */
export async function checkParameters(ctx: KoaContextWithOIDC): Promise<void> {
  checkResponseMode(ctx, pass);
  oauthRequired(ctx, pass);
  checkResponseType(ctx, pass);
  oidcRequired(ctx, pass);
  const isPushed = ctx.oidc.route === 'pushed_authorization_request';
  if (!isPushed) assignDefaults(ctx, pass);
  checkPrompt(ctx, pass);
  await checkScope(ctx, pass);
  checkOpenidScope(ctx, pass);
  checkRedirectUri(ctx, pass);
  checkPKCE(ctx, pass);
  await checkResource(ctx, pass);
  await checkExtraParams(ctx, pass);
  if (!isPushed) assignClaims(ctx, pass);
}

/** Takes a grant that was found: `loadGrant` of actions/authorization/session.js. */
export function takeGrant({ oidc }: KoaContextWithOIDC, grant: NonNullable<KoaContextWithOIDC['oidc']['entities']['Grant']>): void {
  const { client, session } = oidc;
  session?.ensureClientContainer(client?.clientId as string);
  session?.grantIdFor(client?.clientId as string, grant.jti);
  oidc.entity('Grant', grant);
}

/** Returns whether a prompt has to be answered, or a check fails: actions/authorization/interactions.js, without its answer. */
export async function asksForPrompt(ctx: KoaContextWithOIDC): Promise<boolean> {
  for (const { checks } of insideOf(ctx.oidc.provider).configuration.interactions.policy) {
    const answers = await Promise.all(Array.from(checks, async ({ check }) => check(ctx as never)));
    if (answers.some((found) => found !== false)) return true;
  }
  const { grant, requestParamOIDCScopes } = ctx.oidc as unknown as {
    readonly grant: { getOIDCScopeFiltered(scopes: Set<string>): string };
    readonly requestParamOIDCScopes: Set<string>;
  };
  return grant.getOIDCScopeFiltered(requestParamOIDCScopes) === '';
}

/** Returns the lifetime of a code in seconds: models/base_token.js */
export function codeLifetime(ctx: KoaContextWithOIDC): number {
  const { AuthorizationCode: ttl } = insideOf(ctx.oidc.provider).configuration.ttl;
  return typeof ttl === 'function' ? ttl(ctx) : ttl;
}

/**
 * Runs the last step of a request as the endpoint would run it: with its headers, its session's cookie, and the answers of its errors. shared/no_cache.js,
 * shared/session.js
 */
export function conclude(ctx: KoaContextWithOIDC, step: () => Promise<void>): Promise<void> {
  return authorizationErrorHandler(ctx, async () => {
    ctx.set('cache-control', 'no-store');
    if (!ctx.oidc.session) return step();
    try {
      await step();
    } finally {
      await prolong(ctx, ctx.oidc.session as LiveSession);
    }
  });
}

type LiveSession = Session & { readonly id: string; readonly transient?: boolean };

async function prolong(ctx: KoaContextWithOIDC, session: LiveSession): Promise<void> {
  const { provider } = ctx.oidc;
  const { cookies, ttl } = insideOf(provider).configuration;
  const lifetime = ttl.Session(ctx, session);
  const name = provider.cookieName('session');
  ctx.cookies.set(name, session.id, cookies.long);
  await session.save(lifetime);
  if (session.transient || !session.exp) return;
  const set = ctx.res.getHeader('set-cookie') as string[];
  const expires = `; expires=${new Date(session.exp * 1000).toUTCString()}`;
  for (const [index, cookie] of set.entries())
    if (cookie.startsWith(`${name}=`) || cookie.startsWith(`${name}.sig=`)) set[index] = cookie + expires;
}

/**
 * Returns the live session of a cookie that the newest key signed, if the session suits the calling code. shared/session.js would answer other cookies with
 * cookies: with a new signature, or with none.
 */
export async function liveSession<Ours extends Session>(
  { cookies, oidc }: KoaContextWithOIDC,
  suits: (session: Ours) => boolean,
): Promise<Ours | undefined> {
  const { provider } = oidc;
  const name = provider.cookieName('session');
  const value = cookies.get(name, unsigned);
  const signature = value ? cookies.get(`${name}.sig`, unsigned) : undefined;
  const { keys } = cookies as unknown as { readonly keys: { index(data: string, signature: string): number } };
  if (!value || !signature || keys.index(`${name}=${value}`, signature) !== 0) return undefined;
  const { Session: Model } = provider as unknown as { Session: { findLive(value: string, by: typeof suits): Promise<Ours | undefined> } };
  return Model.findLive(value, suits);
}

const unsigned = { signed: false } as const;
