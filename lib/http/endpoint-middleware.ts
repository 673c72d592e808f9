import type { Middleware } from 'koa';
import compose from 'koa-compose';
import type { Extension } from '../contract/extension.js';
import type { ContextOf } from '../contract/extension-context.js';
import { foldedPath } from '../paths.js';

/** Returns middleware that runs the middleware of extensions around named endpoints of the protocol, in the order of the extensions. */
export function endpointMiddleware(
  extensions: readonly Extension[],
  contextOf: ContextOf,
  routes: Readonly<Record<string, string>>,
): Middleware {
  const chains = new Map<string, Middleware[]>();
  for (const { name, around = {} } of extensions) {
    for (const [endpoint, create] of Object.entries(around)) {
      // The check of the options refuses unknown endpoints.
      const path = String(routes[endpoint]).toLowerCase();
      chains.set(path, [...(chains.get(path) ?? []), create(contextOf(name))]);
    }
  }
  const composed = new Map([...chains].map(([path, chain]) => [path, compose(chain)]));
  return (ctx, next) => {
    const run = composed.get(foldedPath(ctx.path));
    return run ? run(ctx, next) : next();
  };
}
