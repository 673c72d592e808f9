/**
 * Introspection responses as signed JWTs, for callers whose `Accept` prefers `application/token-introspection+jwt`.
 *
 * The extension wraps the introspection endpoint. `lib/oidc/tokens` decides before it which tokens are active, and which members a caller sees. Responses
 * are not encrypted.
 * @see RFC 9701
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Middleware } from 'koa';
import { type CallerState, type Extension, type ExtensionContext, epochSeconds } from '../../lib/extension-door.js';

const TYPE = 'application/token-introspection+jwt';

export const jwtIntrospection = (): Extension => ({
  name: 'jwt-introspection',
  around: { introspection: { concerns: mayPreferJwt, middleware: answerInJwt } },
  // @see RFC 9701 §7
  discovery: ({ keys }) => ({ introspection_signing_alg_values_supported: keys.algorithms }),
});

/** Returns whether an `Accept` may prefer the JWT. The most common values prefer JSON. */
const mayPreferJwt = ({ accept = '*/*' }: IncomingHttpHeaders): boolean => accept !== '*/*' && accept !== 'application/json';

/** Signs the JSON answer to a caller that prefers a JWT. Errors stay JSON. @see RFC 9701 §4, §5 */
const answerInJwt = ({ service: { issuer, now }, keys: { sign, introspectionAlgorithm } }: ExtensionContext): Middleware =>
  async function answerIntrospectionInJwt(ctx, next) {
    await next();
    const { caller } = ctx.state as CallerState;
    if (!caller || ctx.status !== 200 || !ctx.response.is('json') || ctx.accepts('json', TYPE) !== TYPE) return;
    const payload = { iss: issuer, aud: caller.id, iat: epochSeconds(now()), token_introspection: ctx.body };
    ctx.body = await sign('token-introspection+jwt', payload, introspectionAlgorithm(caller));
    ctx.set('Content-Type', TYPE);
  };
