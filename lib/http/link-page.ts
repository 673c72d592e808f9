/** The routes of a mailed link, the same for every link that the service mails. */
import type Router from '@koa/router';
import type { Context } from 'koa';
import type { ExtensionContext } from '../contract/extension-context.js';
import { form, formField } from './requests/form.js';

/** The page behind a mailed link. `Opened` is the subject of the link. */
export interface LinkPage<Opened> {
  /** Below the issuer; `:token` stands for the token of the link. */
  readonly path: string;
  /** Returns the subject of a token; undefined for an unknown token. */
  open(token: string): Opened | undefined | Promise<Opened | undefined>;
  /** Returns the subject of the form's CSRF token. */
  subject(opened: Opened): string;
  /** Shows the page. It changes nothing, because mail scanners open links. */
  show(ctx: Context, opened: Opened): void | Promise<void>;
  /** Handles the posted form. */
  take(ctx: Context, opened: Opened): void | Promise<void>;
  /** Shows that the link is unknown. */
  unknown(ctx: Context): void | Promise<void>;
  /** Shows that another browser got the form, or that the form was changed. */
  foreign(ctx: Context, opened: Opened): void | Promise<void>;
}

/**
 * Adds the routes of a mailed link. GET shows its page. POST accepts the form from the browser in which the page was shown.
 * @example
 * ```ts
 * import { type Extension, formField, linkPageRoutes } from 'tenant-idp/extension';
 *
 * const newsletters = new Map([['a-long-secret', 'weekly']]);
 * export const unsubscribing: Extension = {
 *   name: 'newsletters',
 *   routes(router, context) {
 *     linkPageRoutes<string>(router, context, {
 *       path: '/newsletters/:token',
 *       open: (token) => newsletters.get(token),
 *       subject: (newsletter) => `unsubscribe ${newsletter}`,
 *       show(ctx, newsletter) {
 *         const csrf = context.http.csrf.token(ctx, `unsubscribe ${newsletter}`);
 *         ctx.body = `<form method="post"><input type="hidden" name="csrf" value="${csrf}"><button>Unsubscribe</button></form>`;
 *       },
 *       take: (ctx, newsletter) => void (ctx.body = `No more ${newsletter} mail. ${formField(ctx, 'reason')}`),
 *       unknown: (ctx) => ctx.throw(404),
 *       foreign: (ctx) => ctx.throw(403),
 *     });
 *   },
 * };
 * ```
 */
export function linkPageRoutes<Opened>(
  router: Router,
  { http: { csrf }, impersonation: { inPerson } }: Pick<ExtensionContext, 'http' | 'impersonation'>,
  { path, open, subject, show, take, unknown, foreign }: LinkPage<Opened>,
): void {
  const opened = (ctx: Context): Opened | undefined | Promise<Opened | undefined> => open(String(ctx.params.token));
  router.get(path, inPerson, async (ctx: Context) => {
    const found = await opened(ctx);
    await (found === undefined ? unknown(ctx) : show(ctx, found));
  });
  router.post(path, inPerson, form, async (ctx: Context) => {
    const found = await opened(ctx);
    if (found === undefined) return unknown(ctx);
    await (csrf.check(ctx, subject(found), formField(ctx, 'csrf')) ? take(ctx, found) : foreign(ctx, found));
  });
}
