/**
 * Account page: the signed-in user, and links to the pages of extensions on which users change their account. The page changes nothing, so any sign-in of
 * the browser opens it. Each linked page requires the recent sign-in that its changes need.
 */
import type { Context } from 'koa';
import { createOwnPage, type Extension, type ExtensionContext, redirectByGet } from '../../lib/extension-door.js';
import type { Section } from './section.js';
import { texts } from './texts/index.js';

/** Sections of this extension, in the order of the account page. */
const sections: readonly Section[] = [];

const pathOf = ({ service: { own } }: Pick<ExtensionContext, 'service'>): string => `${own}/account`;
const pageOf = (context: ExtensionContext) => createOwnPage(context, 'account:page', pathOf(context));

export const account = (): Extension => ({
  name: 'account',
  texts,
  accountSections: sections,
  clients: (context) => {
    const all = [pageOf(context).clients, ...sections.map(({ clients }) => clients(context))];
    return {
      find: async (id) => {
        for (const clients of all) {
          const found = await clients.find(id);
          if (found) return found;
        }
        return undefined;
      },
    };
  },
  routes(router, context) {
    for (const { routes } of sections) routes(router, context);
    const {
      service: { url },
      pages: { view, accountSections },
    } = context;
    const path = pathOf(context);
    const page = pageOf(context);

    router.get(path, async (ctx: Context) => {
      const here = await page.present(ctx, path);
      if (!here) return;
      const { tenant, person } = here.account;
      await view(ctx, {
        tenant,
        title: 'account.title',
        lead: { key: 'account.lead', values: { userName: person.user.userName, tenant: tenant.name } },
        parts: [
          {
            part: 'links',
            links: accountSections.flatMap(({ title, summary, href }) => {
              const address = href(context);
              return address === undefined ? [] : [{ title, lines: [summary], href: address }];
            }),
          },
        ],
      });
    });

    router.get(`${path}/return`, async (ctx: Context) => {
      const next = await page.returned(ctx);
      if (next !== undefined) return redirectByGet(ctx, url(next));
      await view(ctx, {
        title: 'account.title',
        status: 403,
        parts: [
          { part: 'text', text: 'account.signedOut' },
          { part: 'link', text: 'account.again', href: url(path) },
        ],
      });
    });
  },
});
