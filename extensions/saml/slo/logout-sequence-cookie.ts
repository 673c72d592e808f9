/**
 * The browser that a logout goes by. Each service provider that answers learns the handle, because it can post its answer from its own server and read
 * where that leads; the secret in the cookie stays in the browser.
 */
import { hash } from 'node:crypto';
import type { Context, ExtensionContext } from '../../../lib/extension-door.js';
import { logoutSequences } from './logout-sequence.js';
import { nextPath } from './participant.js';

export function createLogoutSequenceCookie({ service: { own, url }, http: { cookieName } }: Pick<ExtensionContext, 'service' | 'http'>) {
  const path = new URL(url(nextPath(own))).pathname;
  // A name for each logout, because a browser can be on the way of several.
  const nameOf = (handle: string): string => cookieName(`saml-logout.${hash('sha256', handle, 'base64url').slice(0, 22)}`);

  return {
    /** Several where a sibling subdomain set one of the name as well. Not by `ctx.cookies`, which keeps a pattern for each name that it was ever asked for. */
    read(ctx: Context, handle: string): readonly string[] {
      const start = `${nameOf(handle)}=`;
      const pairs = (ctx.headers.cookie ?? '').split(';').map((pair) => pair.trim());
      return pairs.flatMap((pair) => (pair.startsWith(start) ? [pair.slice(start.length)] : []));
    },

    write(ctx: Context, handle: string, secret: string): void {
      const maxAge = logoutSequences.lifetimeSeconds * 1000;
      ctx.cookies.set(nameOf(handle), secret, { signed: false, path, httpOnly: true, sameSite: 'lax', maxAge, overwrite: true });
    },
  };
}
