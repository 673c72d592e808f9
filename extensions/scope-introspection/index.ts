/**
 * Current claims of a user, for API resources that do not rely on the claims in a token. The endpoint is part of this service, and of no standard.
 *
 * The caller sends a `sub` and scopes instead of a token. The caller authenticates as a client or an API resource, and sees its own users, scopes and
 * pseudonyms. `lib/claims` computes the claims.
 */
import type { Context } from 'koa';
import {
  answerJson,
  type Caller,
  type CallerState,
  clientAuth,
  type Extension,
  type ExtensionContext,
  type ExtensionRouter,
  form,
  IdpError,
  parametersOf,
} from '../../lib/extension-door.js';
import { introspectScopes } from './introspect-scopes.js';

export { introspectScopesFor } from './introspect-scopes.js';

const PATH = '/connect/scope/introspect';

export const scopeIntrospection = (): Extension => ({
  name: 'scope-introspection',
  discovery: ({ service: { url } }) => ({ scope_introspection_endpoint: url(PATH) }),
  routes,
});

/** Adds the endpoint. Parameters are in the query or in a form, for GET and POST. Credentials are in a header or in the form. */
function routes(router: ExtensionRouter, context: ExtensionContext): void {
  const authenticate = clientAuth(context);

  async function answer(ctx: Context): Promise<void> {
    const { caller } = ctx.state as Required<CallerState>;
    const { sub, scope, tid } = parametersOf(ctx, ['sub', 'scope', 'tid']);
    if (sub === undefined) throw new IdpError('invalid_request');
    const clientId = namedClient(ctx, caller);
    answerJson(ctx, await introspectScopes(context, { sub, scope, tid, clientId }, caller));
  }

  router.get(PATH, neverStored, form, authenticate, answer);
  router.postWithoutCsrf(PATH, neverStored, form, authenticate, answer);
}

/** Returns the client that got `sub`. If credentials are in the form, its `client_id` is the caller's own. */
function namedClient(ctx: Context, caller: Caller): string | undefined {
  const places = ctx.headers.authorization === undefined ? [ctx.query] : undefined;
  const { client_id: id } = parametersOf(ctx, ['client_id'], places);
  if (id === undefined || (id === caller.id && ctx.query.client_id === undefined)) return undefined;
  if ('allowedScopes' in caller && caller.introspects !== 'all') throw new IdpError('invalid_request');
  return id;
}

function neverStored(ctx: Context, next: () => Promise<void>): Promise<void> {
  ctx.set({ 'Cache-Control': 'no-store', Pragma: 'no-cache' });
  return next();
}
