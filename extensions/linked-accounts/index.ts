/** Linked accounts: the page on which a user lists linked accounts, links another account, and ends an account link. */
import type { Extension } from '../../lib/extension-door.js';
import { linkRequestKind, pageOf } from './link-request.js';
import { linkedAccountRoutes } from './routes.js';
import { texts } from './texts/index.js';

export const linkedAccounts = (): Extension => ({
  name: 'linked-accounts',
  artifacts: [linkRequestKind],
  texts,
  accountSections: [
    {
      name: 'linked-accounts',
      group: 'signIn',
      title: 'linked.title',
      summary: 'linked.summary',
      href: ({ service: { own, url } }) => url(`${own}/linked-accounts`),
    },
  ],
  routes: linkedAccountRoutes,
  clients: (context) => pageOf(context).clients,
});
