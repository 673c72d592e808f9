/**
 * The account page: who is signed in here, and the pages on which people change something of their own, which extensions contribute. It changes nothing
 * itself, so any sign-in of the browser opens it; each page asks for the recent one that its changes take.
 */
import type { Context } from 'koa';
import { createOwnPage, type Extension, type ExtensionContext, redirectByGet, type ViewPart } from '../../lib/extension-door.js';
import { texts } from './texts/index.js';

const pathOf = ({ own }: Pick<ExtensionContext, 'own'>): string => `${own}/account`;
const pageOf = (context: ExtensionContext) => createOwnPage(context, 'account:page', pathOf(context));

export const account = (): Extension => ({
  name: 'account',
  texts,
  clients: (context) => pageOf(context).clients,
  routes(router, context) {
    const { url, view, signedIn, accountSections } = context;
    const path = pathOf(context);
    const page = pageOf(context);
    const refused = (text: string, ...more: readonly ViewPart[]) =>
      ({ title: 'account.title', status: 403, parts: [{ part: 'text', text }, ...more] }) as const;

    router.get(path, async (ctx: Context) => {
      const here = await signedIn(ctx);
      if (!here) return page.signIn(ctx, path);
      const { tenant, person } = here.account;
      if (here.act) return view(ctx, { tenant, ...refused('account.acting') });
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
      await view(ctx, refused('account.signedOut', { part: 'link', text: 'account.again', href: url(path) }));
    });
  },
});
