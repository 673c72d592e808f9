/** Routes of extensions: each route has one owner, and no route is on a path that the protocol answers. */
import Router from '@koa/router';
import type { Middleware } from 'koa';
import type { Extension } from '../contract/extension.js';
import type { ContextOf, ExtensionContext } from '../contract/extension-context.js';
import { routeName } from '../contract/route-names.js';
import type { AddRoute, ExtensionRouter } from '../contract/routes.js';
import { ConfigError, IdpError } from '../errors.js';
import { foldedPath } from '../paths.js';
import { addFormRoute, addLinkRoutes } from './form-routes.js';

/**
 * Creates the router for all extensions. A path without parameters finds its extension by a look-up, because the regular expressions of all
 * other extensions would cost more than the route.
 * @param isOfProtocol returns whether the protocol answers a path, in any spelling
 * @throws ConfigError `extension_conflict` for a route with another owner
 */
export function extensionRouter(extensions: readonly Extension[], contextOf: ContextOf, isOfProtocol: (path: string) => boolean) {
  const all = new Router();
  const routers: { readonly own: Router; readonly errors: Extension['errors'] }[] = [];
  const claim = createClaims(isOfProtocol);
  for (const extension of extensions) {
    const own = routesOf(extension, contextOf(extension.name));
    routers.push({ own, errors: extension.errors });
    for (const layer of own.stack) claim(extension.name, layer);
    all.use(own.routes());
  }
  const methodsOf = (path: string): readonly string[] | undefined => {
    const methods = all.match(path, '').path.flatMap((layer) => layer.methods);
    return methods.length > 0 ? methods : undefined;
  };
  const ownedAt = (path: string) => routers.filter(({ own }) => own.match(path, '').path.length > 0);
  const direct = new Map<string, { readonly methods: readonly string[] | undefined; readonly run: Middleware }>();
  for (const { own } of routers) {
    const run = own.routes() as unknown as Middleware;
    for (const { path } of own.stack)
      if (typeof path === 'string' && /^[\w/.-]+$/.test(path) && ownedAt(path).length === 1)
        direct.set(path, { methods: methodsOf(path), run });
  }
  const runAll = all.routes() as unknown as Middleware;
  const routed: Middleware = (ctx, next) => (direct.get(ctx.path)?.run ?? runAll)(ctx, next);
  return {
    routed,
    methodsAt: (path: string) => direct.get(path)?.methods ?? methodsOf(path),
    styleAt: (path: string) => ownedAt(path).find(({ errors }) => errors)?.errors,
  };
}

function routesOf({ name, routes }: Extension, context: ExtensionContext): Router {
  const own = new Router();
  try {
    routes?.(routerOf(own, context), context);
  } catch (error) {
    if (error instanceof ConfigError && error.code === 'invalid_options')
      throw new ConfigError(
        'invalid_options',
        error.problems.map((problem) => ({ ...problem, path: `extensions.${name}.routes: ${problem.path}` })),
      );
    if (error instanceof IdpError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`The routes of extension '${name}' could not be made: ${why}`, { cause: error });
  }
  return own;
}

/** Returns the router as an extension sees it. The router has no plain route for POST, because such a route could forget the checks of a form. */
function routerOf(own: Router, context: ExtensionContext): ExtensionRouter {
  const adding =
    (method: 'delete' | 'get' | 'patch' | 'post' | 'put'): AddRoute =>
    (path, ...steps) =>
      void own[method](path, ...(steps as readonly Middleware[]));
  return {
    get: adding('get'),
    put: adding('put'),
    patch: adding('patch'),
    delete: adding('delete'),
    postForm: (path, form) => addFormRoute(own, context, path, form),
    linkPages: (pages) => addLinkRoutes(own, context, pages),
    postWithoutCsrf: adding('post'),
    allWithoutCsrf: (path, ...steps) => void own.all([path, `${path}/*rest`], ...(steps as readonly Middleware[])),
  };
}

/** Parameters of a path of Koa's router. */
const parameters = /:(?:[\w$]+|"[^"]*")/g;

/** Records the owner of each route. Middleware of a router has no methods, and claims no route. */
function createClaims(isOfProtocol: (path: string) => boolean) {
  const owners = new Map<string, string>();
  return (name: string, { path: given, methods }: Router['stack'][number]): void => {
    const path = String(given);
    // A route for GET answers HEAD.
    for (const method of methods.filter((each) => each !== 'HEAD' || !methods.includes('GET'))) {
      // The router folds paths as the protocol does.
      const route = routeName(method, foldedPath(path), parameters);
      const owner = isOfProtocol(path) ? 'the protocol' : owners.get(route);
      if (owner !== undefined && owner !== name)
        throw new ConfigError('extension_conflict', [
          { path: 'extensions', expected: `one owner of ${method} ${path}`, received: `${owner} and ${name}` },
        ]);
      owners.set(route, name);
    }
  };
}
