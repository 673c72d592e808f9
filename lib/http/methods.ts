import type { Middleware } from 'koa';

/** Endpoints that take a form, and nothing else. */
const posted = ['pushed_authorization_request', 'token', 'introspection', 'revocation'];

/** Answers a wrong method as what it is, instead of as an unknown page. @see RFC 9110 §15.5.6 */
export function methodNotAllowed(routes: Readonly<Record<string, string>>): Middleware {
  const paths = new Set(posted.flatMap((name) => routes[name] ?? []));
  return async function methodNotAllowed(ctx, next) {
    if (ctx.method === 'POST' || ctx.method === 'OPTIONS' || !paths.has(ctx.path)) return next();
    ctx.status = 405;
    ctx.set('Allow', 'POST');
    ctx.body = { error: 'invalid_request', error_description: 'this endpoint takes POST' };
  };
}
