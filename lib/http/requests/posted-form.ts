import { type ParsedUrlQuery, parse, stringify } from 'node:querystring';
import type { Context, Middleware } from 'koa';

/**
 * The parameters of a posted form that are sent on as those of a GET, so that cookies come along whoever's page it was posted from.
 * @param maxBytes of names and values, decoded.
 * @throws Error with status 413, 415.
 */
export async function postedForm(ctx: Context, readForm: Middleware, maxBytes: number): Promise<ParsedUrlQuery> {
  await readForm(ctx, async () => {});
  const { rawBody } = ctx.request as { rawBody?: string };
  if (rawBody === undefined) return refuse(415, 'a request by POST is a form');
  const form = parse(rawBody);
  const decoded = stringify(form, '&', '=', { encodeURIComponent: (text) => text });
  return Buffer.byteLength(decoded) <= maxBytes ? form : refuseLong();
}

/**
 * Sends the browser on by GET, as the answer to a form.
 * @param url that the caller trusts.
 * @example
 * ```ts
 * import { type Extension, redirectByGet } from 'tenant-idp/extension';
 *
 * export const start: Extension = {
 *   name: 'start',
 *   routes(router, { url }) {
 *     router.get('/start', (ctx) => redirectByGet(ctx, url('/started')));
 *   },
 * };
 * ```
 */
export function redirectByGet(ctx: Context, url: string): void {
  ctx.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
  ctx.status = 303;
  ctx.redirect(url);
}

export const refuseLong = (): never => refuse(413, 'the request is too long');

function refuse(status: number, message: string): never {
  throw Object.assign(new Error(message), { status, expose: true });
}
