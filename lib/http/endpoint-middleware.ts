import type { IncomingHttpHeaders } from 'node:http';
import type { Context, Middleware } from 'koa';
import compose from 'koa-compose';
import type { Extension } from '../contract/extension.js';
import type { ContextOf } from '../contract/extension-context.js';
import { foldedPath } from '../paths.js';

export interface EndpointMiddleware {
  /** Runs the middleware of extensions around an endpoint, in the order of the extensions. */
  readonly run: Middleware;
  /** Returns whether middleware concerns a request to a path. The path is written as the routes write it. */
  concerns(path: string, headers: IncomingHttpHeaders): boolean;
}

interface Around {
  readonly concerns: (headers: IncomingHttpHeaders) => boolean;
  readonly run: Middleware;
}

const always = (): true => true;

/** Creates the middleware of extensions around named endpoints of the protocol. */
export function endpointMiddleware(
  extensions: readonly Extension[],
  contextOf: ContextOf,
  routes: Readonly<Record<string, string>>,
): EndpointMiddleware {
  const chains = new Map<string, Around[]>();
  for (const { name, around = {} } of extensions) {
    for (const [endpoint, given] of Object.entries(around)) {
      // The check of the options refuses unknown endpoints.
      const path = String(routes[endpoint]).toLowerCase();
      const { concerns, middleware } = typeof given === 'function' ? { concerns: always, middleware: given } : given;
      chains.set(path, [...(chains.get(path) ?? []), { concerns, run: middleware(contextOf(name)) }]);
    }
  }
  const composed = new Map([...chains].map(([path, chain]) => [path, compose(chain.map(onlyIfConcerned))]));
  return {
    run(ctx, next) {
      const run = composed.get(foldedPath(ctx.path));
      return run ? run(ctx, next) : next();
    },
    concerns: (path, headers) => chains.get(path.toLowerCase())?.some((each) => each.concerns(headers)) ?? false,
  };
}

const onlyIfConcerned = ({ concerns, run }: Around): Middleware =>
  concerns === always ? run : (ctx: Context, next) => (concerns(ctx.req.headers) ? run(ctx, next) : next());
