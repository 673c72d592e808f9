import { createHmac, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Context } from 'koa';
import type { Csrf } from '../../contract/context/http.js';

/** Ids of forms. */
export interface FormIds {
  /** Returns the id of the form that a token was made for; undefined for a token of another browser. */
  formOf(ctx: Context, token: string): string | undefined;
}

/** Functions that distinguish browsers. */
interface Browsers {
  browserOf(ctx: Context): string | undefined;
  /** Returns the id of the browser; gives a new browser an id with the answer. */
  begin(ctx: Context): string;
}

/**
 * Returns whether the browser states that a page of another site sent the request.
 * @param origin of the service
 * @see Fetch Metadata Request Headers §2.3
 */
export function isFromElsewhere(ctx: Pick<Context, 'get'>, origin: string): boolean {
  const site = ctx.get('sec-fetch-site');
  const from = ctx.get('origin');
  return (site !== '' && site !== 'same-origin') || (from !== '' && from !== 'null' && from !== origin);
}

/** Bytes of each half of an id. The first half is random, and the second half proves for which browser the id was made. */
const HALF_BYTES = 12;
/** Characters of an id in base64url. */
const ID_LENGTH = 32;

export function createCsrf(key: KeyObject, origin: string, { browserOf, begin }: Browsers): Csrf & FormIds {
  const mac = (...texts: readonly (string | null)[]): Buffer => createHmac('sha256', key).update(JSON.stringify(texts)).digest();
  const idOf = (browser: string | undefined, drawn: Buffer): string =>
    Buffer.concat([drawn, mac('form', browser ?? null, drawn.toString('base64url')).subarray(0, HALF_BYTES)]).toString('base64url');
  const mint = (browser: string | undefined, id: string, subject: string): string =>
    id + mac('token', browser ?? null, id, subject).toString('base64url');
  const isEqual = (expected: string, given: string): boolean => {
    const [one, other] = [Buffer.from(expected), Buffer.from(given)];
    return one.length === other.length && timingSafeEqual(one, other);
  };
  return {
    token(ctx, subject) {
      const browser = begin(ctx);
      return mint(browser, idOf(browser, randomBytes(HALF_BYTES)), subject);
    },
    check(ctx, subject, token) {
      if (isFromElsewhere(ctx, origin)) return false;
      const given = typeof token === 'string' ? token : '';
      return isEqual(mint(browserOf(ctx), given.slice(0, ID_LENGTH), subject), given);
    },
    ticket: (ctx, name) => mac('ticket', begin(ctx), name).toString('base64url'),
    formOf(ctx, token) {
      const browser = browserOf(ctx);
      const id = token.slice(0, ID_LENGTH);
      return browser !== undefined && isEqual(idOf(browser, Buffer.from(id, 'base64url').subarray(0, HALF_BYTES)), id) ? id : undefined;
    },
  };
}
