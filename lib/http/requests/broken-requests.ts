import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import { isPercentEncoded } from '../../text/decode.js';

/** A scheme with more than one space, or a tab, after it. */
const spaced = /^([!-~]+)(?: [ \t]+|\t[ \t]*)/;

/** Characters of a query. @see RFC 3986 §3.4 */
const ascii = /^[!-~]*$/;

/**
 * Refuses a query that a decoder would repair, and credentials that a program in front of the service may read differently. Leaves one space after the
 * scheme of credentials, because oidc-provider accepts no other form.
 * @see RFC 9110 §11.4
 * @throws Error with status 400 that states what to do
 */
export const refuseBroken: Middleware = (ctx, next) => {
  const { querystring, req } = ctx;
  const { authorization } = req.headers;
  if (!ascii.test(querystring) || !isPercentEncoded(querystring))
    refuse('The query is not UTF-8 in percent-encoding. Encode every character outside ASCII, and a percent sign as %25.');
  if (authorization !== undefined && hasSecondAuthorization(req)) refuse('There is more than one Authorization header. Send one.');
  if (authorization !== undefined && spaced.test(authorization)) req.headers.authorization = authorization.replace(spaced, '$1 ');
  return next();
};

/** Returns whether there is more than one `Authorization`. Counts the raw headers, because Node drops all but the first. */
export function hasSecondAuthorization({ rawHeaders }: IncomingMessage): boolean {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) if (rawHeaders[index]?.toLowerCase() === 'authorization') count += 1;
  return count > 1;
}

function refuse(message: string): never {
  throw Object.assign(new Error(message), { status: 400, expose: true });
}
