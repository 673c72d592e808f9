import { type ParsedUrlQuery, parse } from 'node:querystring';
import type { Context, Middleware } from 'koa';
import { type KeptFor, mayBeKept } from './kept-size.js';

/**
 * Returns the parameters of a posted form that continues as a GET. The browser then sends its cookies, even if a page of another site
 * posted the form.
 * @param time for which the store keeps the form.
 * @param names of the parameters that are kept. @default all
 * @throws Error with status 413 for a form that is too long to be kept, 415 for a body that is not a form.
 */
export async function postedForm(ctx: Context, readForm: Middleware, time: KeptFor, names?: readonly string[]): Promise<ParsedUrlQuery> {
  await readForm(ctx, async () => {});
  const { rawBody } = ctx.request as { rawBody?: string };
  if (rawBody === undefined) return refuse(415, 'The body is not a form. Send it as application/x-www-form-urlencoded.');
  const all = parse(rawBody);
  const form = names ? Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name))) : all;
  return mayBeKept(form, time) ? form : refuseLong();
}

/**
 * Redirects the browser by GET, as the answer to a form.
 * @param url that the extension trusts.
 * @example
 * ```ts
 * import { type Extension, redirectByGet } from 'tenant-idp/extension';
 *
 * export const start: Extension = {
 *   name: 'start',
 *   routes(router, { service }) {
 *     router.get('/start', (ctx) => redirectByGet(ctx, service.url('/started')));
 *   },
 * };
 * ```
 */
export function redirectByGet(ctx: Context, url: string): void {
  ctx.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
  ctx.status = 303;
  ctx.redirect(url);
}

export const refuseLong = (): never => refuse(413, 'The request is too long. Send less in one request.');

function refuse(status: number, message: string): never {
  throw Object.assign(new Error(message), { status, expose: true });
}
