/**
 * The admin API: the operations that extensions contribute, below one path, behind access tokens for the service's own API resource.
 *
 * `mount` turns operations into routes, which check token, scope, tenant, rate limit, schema and `Idempotency-Key`. `openapi` writes the document that lists
 * the operations. `resources/` has the operations on records of the directory, a file for each resource.
 */
import Router from '@koa/router';
import type { Context, Extension, ExtensionContext, ExtensionRouter } from '../../lib/extension-door.js';
import { answerJson, IdpError, WrittenJson } from '../../lib/extension-door.js';
import { errors } from './errors.js';
import { kinds } from './idempotency.js';
import { operationRoutes } from './mount.js';
import { openApiOf } from './openapi.js';
import { resources } from './resources/index.js';
import { listings } from './resources/means.js';

const BASE = '/api/v1';
const DOCUMENT = '/openapi.json';

export const admin = (): Extension => ({
  name: 'admin',
  errors: 'problem',
  errorCodes: errors.codes,
  artifacts: [...kinds, listings],
  discovery: ({ service: { url, own } }) => ({ admin_api_endpoint: url(own + BASE) }),
  resources,
  routes,
});

function routes(outer: ExtensionRouter, context: ExtensionContext): void {
  const base = context.service.own + BASE;
  const router = new Router({ sensitive: true, strict: true });
  let document: WrittenJson | undefined;
  router.get(base, (ctx) => {
    ctx.redirect(context.service.url(base + DOCUMENT));
    ctx.status = 303;
  });
  router.get(base + DOCUMENT, (ctx) => {
    document ??= new WrittenJson(openApiOf(context, base));
    answerJson(ctx as unknown as Context, document);
  });
  operationRoutes(router, context, base);

  const answer = router.routes();
  outer.allWithoutCsrf(base, async (ctx: Context, next) => {
    // Events and log lines name the request by this id.
    ctx.set('X-Request-Id', context.http.requestId(ctx));
    const { path, pathAndMethod } = router.match(ctx.path, ctx.method);
    if (path.length === 0) throw new IdpError('not_found');
    if (pathAndMethod.length > 0) return answer(ctx as never, next);
    ctx.set('Allow', [...new Set(path.flatMap(({ methods }) => methods))].join(', '));
    if (ctx.method !== 'OPTIONS') throw errors('method_not_allowed');
    ctx.status = 204;
  });
}
