/** Parts of an extension that several of its members share. */
import type { ExtensionContext } from './extension-context.js';

/**
 * Creates the parts of an extension once for each service, when a member of the extension first needs the parts.
 * @example
 * ```ts
 * import { createOwnPage, type Extension, perContext, redirectByGet, shownName } from 'tenant-idp/extension';
 *
 * const pageOf = perContext((context) => createOwnPage(context, 'nickname:page', '/nickname'));
 * export const nickname: Extension = {
 *   name: 'nickname',
 *   clients: (context) => pageOf(context).clients,
 *   routes(router, context) {
 *     const page = pageOf(context);
 *     router.get('/nickname', async (ctx) => {
 *       const here = await page.present(ctx, '/nickname');
 *       if (here) ctx.body = `You are ${shownName(here.account.person)}.`;
 *     });
 *     router.get('/nickname/return', async (ctx) => redirectByGet(ctx, context.service.url((await page.returned(ctx)) ?? '/nickname')));
 *   },
 * };
 * ```
 */
export function perContext<Parts extends object>(create: (context: ExtensionContext) => Parts): (context: ExtensionContext) => Parts {
  const made = new WeakMap<ExtensionContext, Parts>();
  return (context) => {
    const parts = made.get(context) ?? create(context);
    made.set(context, parts);
    return parts;
  };
}
