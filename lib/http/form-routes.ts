/** Routes that take the form of a page, with the checks that every such route needs. */
import type Router from '@koa/router';
import type { Context } from 'koa';
import { recordsOfBrowsers } from '../contract/browser-records.js';
import type { ExtensionContext } from '../contract/extension-context.js';
import type { LinkPages, PostForm } from '../contract/routes.js';
import { form, takeOrRefill, tokenIn } from './requests/form.js';
import { redirectByGet } from './requests/posted-form.js';
import type { FormState } from './requests/repeated-forms.js';

type FormContext = Pick<ExtensionContext, 'http' | 'impersonation' | 'records' | 'service'>;

/** Adds the route of a form. The form is read before anything is looked up. A form that is sent twice is therefore evaluated once. */
export function addFormRoute<Opened>(
  router: Router,
  { http: { csrf }, impersonation: { inPerson } }: FormContext,
  path: string,
  page: PostForm<Opened>,
): void {
  const evaluate = async (ctx: Context): Promise<void> => {
    const opened = await page.open(ctx);
    if (opened === undefined) return;
    if (!csrf.check(ctx, page.subject(opened), tokenIn(ctx))) return page.again(ctx, opened);
    if (page.isEvaluatedAgain?.(ctx)) (ctx.state as FormState).isEvaluatedAgain = true;
    await takeOrRefill(
      ctx,
      async () => page.take(ctx, opened),
      async () => (page.refill ? page.refill(ctx, opened) : page.again(ctx, opened)),
    );
  };
  if (page.whileImpersonating) router.post(path, form, evaluate);
  else router.post(path, inPerson, form, evaluate);
}

/** Adds the routes of a mailed link. */
export function addLinkRoutes<Opened>(router: Router, context: FormContext, pages: LinkPages<Opened>): void {
  const { path, usedHere } = pages;
  const records = usedHere && recordsOfBrowsers(context, usedHere.kind);
  const tokenOf = (ctx: Context): string => String(ctx.params.token);
  const stateOf = (opened: Opened) => pages.state?.(opened) ?? 'pending';
  const wasUsedHere = async (ctx: Context, opened: Opened): Promise<boolean> =>
    stateOf(opened) === 'used' && (await records?.read(ctx, pages.subject(opened))) !== undefined;
  const over = (ctx: Context, opened: Opened) => (pages.over ? pages.over(ctx, opened) : pages.unknown(ctx));
  /** Sends the browser to the page that GET shows. */
  const toPage = (ctx: Context): void => redirectByGet(ctx, context.service.url(path.replace(':token', tokenOf(ctx))));

  async function show(ctx: Context, opened: Opened): Promise<void> {
    if (stateOf(opened) === 'pending') return pages.ask(ctx, opened);
    await (usedHere && (await wasUsedHere(ctx, opened)) ? usedHere.show(ctx, opened) : over(ctx, opened));
  }

  async function take(ctx: Context, opened: Opened): Promise<void> {
    if (await wasUsedHere(ctx, opened)) return toPage(ctx);
    if (stateOf(opened) !== 'pending') return pages.takeOver ? pages.takeOver(ctx, opened) : over(ctx, opened);
    const outcome = await pages.take(ctx, opened);
    if (outcome === 'used') {
      await records?.put(ctx, pages.subject(opened));
      return toPage(ctx);
    }
    if (outcome !== 'over') return;
    const now = await pages.open(tokenOf(ctx));
    if (now === undefined || stateOf(now) === 'pending') return pages.unknown(ctx);
    return (await wasUsedHere(ctx, now)) ? toPage(ctx) : over(ctx, now);
  }

  router.get(path, context.impersonation.inPerson, async (ctx: Context) => {
    const opened = await pages.open(tokenOf(ctx));
    await (opened === undefined ? pages.unknown(ctx) : show(ctx, opened));
  });
  addFormRoute<Opened>(router, context, path, {
    async open(ctx) {
      const opened = await pages.open(tokenOf(ctx));
      if (opened === undefined) await pages.unknown(ctx);
      return opened;
    },
    subject: (opened) => pages.subject(opened),
    again: (ctx, opened) => pages.again(ctx, opened),
    refill: (ctx, opened) => show(ctx, opened),
    take,
  });
}
