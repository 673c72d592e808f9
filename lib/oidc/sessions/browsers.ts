/**
 * The browser of a sign-in. A sibling subdomain can set cookies for any path of this origin, except cookies whose names begin with `__Host-`. A secret in
 * such a cookie distinguishes browsers, and records store the hash of the secret. @see RFC 6265bis §4.1.3.2, §8.6
 */
import { hash, randomBytes } from 'node:crypto';
import type { Browsers } from '../context.js';
import { type CookieNaming, cookieName, pathCookieName } from './cookies.js';

/** Seconds for which browsers keep a cookie at most: 400 days. @see RFC 6265bis §5.5 */
const KEPT_SECONDS = 400 * 24 * 60 * 60;

/** Form of the secret: 32 bytes. */
const secretPattern = /^[\w-]{43}$/;

const hashOf = (secret: string): string => hash('sha256', secret, 'base64url');

export function createBrowsers(options: CookieNaming): Browsers {
  const name = cookieName('browser', options);
  const attributes = `Path=/; Max-Age=${KEPT_SECONDS}; HttpOnly; SameSite=Lax${options.secure ? '; Secure' : ''}`;

  const ours = [cookieName('', { ...options, mountPath: '' }), pathCookieName('', options)];

  /** Browsers of responses that are not sent yet. */
  const begun = new WeakMap<object, string>();

  const browserOf: Browsers['browserOf'] = ({ headers }) => {
    const [secret = '', ...others] = valuesOf(headers.cookie ?? '', name);
    // If there are two cookies, one is from another origin, and the service cannot determine which.
    return others.length === 0 && secretPattern.test(secret) ? hashOf(secret) : undefined;
  };
  return {
    browserOf,
    sendsCookies: ({ headers }) => (headers.cookie ?? '').split(';').some((pair) => ours.some((start) => pair.trim().startsWith(start))),
    isBoundHere: (ctx, { browser }) => browser !== undefined && browser === browserOf(ctx),
    begin(ctx) {
      const known = browserOf(ctx) ?? begun.get(ctx);
      if (known !== undefined) return known;
      const secret = randomBytes(32).toString('base64url');
      ctx.append('Set-Cookie', `${name}=${secret}; ${attributes}`);
      const browser = hashOf(secret);
      begun.set(ctx, browser);
      return browser;
    },
  };
}

/** Returns all values of a name in a `Cookie` header. */
const valuesOf = (header: string, name: string): readonly string[] =>
  header.split(';').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at >= 0 && pair.slice(0, at).trim() === name ? [pair.slice(at + 1).trim()] : [];
  });
