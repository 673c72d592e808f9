/** Sections of the account page that this extension has itself. Each section is a page in a file of its own. */
import type { Context } from 'koa';
import {
  type AccountSection,
  type ExtensionContext,
  type ExtensionRouter,
  type InternalClients,
  type OwnPage,
  redirectByGet,
  type Text,
} from '../../lib/extension-door.js';

/** A section and its page. */
export interface Section extends AccountSection {
  /** Returns the internal client that users sign in to before they see the page. */
  readonly clients: (context: ExtensionContext) => InternalClients;
  readonly routes: (router: ExtensionRouter, context: ExtensionContext) => void;
}

/** Adds the route to which browsers return from the sign-in that a page required. @param title of the page */
export function addReturn(
  router: ExtensionRouter,
  { service: { url }, pages: { view } }: ExtensionContext,
  page: OwnPage,
  path: string,
  title: Text,
) {
  router.get(`${path}/return`, async (ctx: Context) => {
    const next = await page.returned(ctx);
    if (next !== undefined) return redirectByGet(ctx, url(next));
    await view(ctx, {
      title,
      status: 403,
      parts: [
        { part: 'text', text: 'account.signedOut' },
        { part: 'link', text: 'account.again', href: url(path) },
      ],
    });
  });
}
