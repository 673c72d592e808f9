import type { Context, Middleware, Next } from 'koa';
import { foldedPath } from '../../paths.js';

/** Methods of the protocol's endpoints. An endpoint that is not listed accepts a form. */
const methods: Readonly<Record<string, readonly string[]>> = {
  authorization: ['GET', 'HEAD', 'POST'],
  resume: ['GET', 'HEAD'],
  userinfo: ['GET', 'HEAD', 'POST', 'OPTIONS'],
  end_session: ['GET', 'HEAD', 'POST'],
  end_session_confirm: ['POST'],
  end_session_success: ['GET', 'HEAD'],
  backchannel_authentication: ['POST'],
  jwks: ['GET', 'HEAD', 'OPTIONS'],
  discovery: ['GET', 'HEAD', 'OPTIONS'],
};
const form = ['POST', 'OPTIONS'];

/** Returns the methods that a path accepts; undefined for a path that is not the service's. */
export type MethodsOf = (path: string) => readonly string[] | undefined;

/** Returns the methods by the paths of the protocol's endpoints. */
export function protocolMethods(routes: Readonly<Record<string, string>>): MethodsOf {
  const { authorization = '', end_session: endSession = '' } = routes;
  const paths = new Map(
    Object.entries({
      ...routes,
      end_session_confirm: `${endSession}/confirm`,
      end_session_success: `${endSession}/success`,
    }).map(([name, path]) => [path.toLowerCase(), methods[name] ?? form]),
  );
  for (const name of ['openid-configuration', 'oauth-authorization-server']) paths.set(`/.well-known/${name}`, methods.discovery ?? form);
  const resume = `${authorization.toLowerCase()}/`;
  return (path) => {
    const exact = paths.get(path);
    if (exact) return exact;
    const folded = foldedPath(path);
    const isResume = folded.startsWith(resume) && !folded.includes('/', resume.length);
    return paths.get(folded) ?? (isResume ? methods.resume : undefined);
  };
}

/** Creates middleware that answers 405 instead of 404 to a method that the path does not accept. @see RFC 9110 §15.5.6 */
export const methodNotAllowed = (methodsOf: MethodsOf): Middleware =>
  function methodNotAllowed(ctx, next) {
    const allowed = methodsOf(ctx.path) ?? [];
    const isTaken = allowed.includes(ctx.method) && ctx.method !== 'OPTIONS';
    return allowed.length === 0 || isTaken ? next() : answerUnanswered(ctx, next, allowed);
  };

async function answerUnanswered(ctx: Context, next: Next, allowed: readonly string[]): Promise<void> {
  await next();
  if (ctx.status !== 404 || ctx.body !== undefined) return;
  ctx.set('Allow', allowed.join(', '));
  // The request is an OPTIONS request that is not a preflight. @see RFC 9110 §9.3.7
  if (allowed.includes(ctx.method)) {
    ctx.status = 204;
    return;
  }
  const methods = allowed.filter((method) => !/HEAD|OPTIONS/.test(method)).join(' or ');
  throw Object.assign(new Error(`The endpoint does not accept this method. Send the request by ${methods}.`), {
    status: 405,
    expose: true,
  });
}
