import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Context } from 'koa';

/** Tokens that prove a form came from a page of ours, in the same browser, for the sign-in it is about. */
export interface Csrf {
  /** @param subject what the form is about, such as an interaction's uid. */
  token(ctx: Context, subject: string): string;
  /** False also for a request that the browser itself says came from elsewhere. @see Fetch Metadata Request Headers §2.3 */
  check(ctx: Context, subject: string, token: unknown): boolean;
}

/** What tells browsers apart. */
interface Browsers {
  browserOf(ctx: Context): string | undefined;
  /** The same, of a browser that gets to be known with the answer. */
  begin(ctx: Context): string;
}

export function createCsrf(key: Buffer, origin: string, { browserOf, begin }: Browsers): Csrf {
  const mint = (browser: string | undefined, subject: string): string =>
    createHmac('sha256', key)
      .update(JSON.stringify([browser ?? null, subject]))
      .digest('base64url');
  return {
    token: (ctx, subject) => mint(begin(ctx), subject),
    check(ctx, subject, token) {
      const site = ctx.get('sec-fetch-site');
      if (site !== '' && site !== 'same-origin') return false;
      const from = ctx.get('origin');
      if (from !== '' && from !== origin && from !== 'null') return false;
      const expected = Buffer.from(mint(browserOf(ctx), subject));
      const given = Buffer.from(typeof token === 'string' ? token : '');
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
}
