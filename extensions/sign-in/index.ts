/**
 * The sign-in pages, the pages that the protocol shows, and how pages and mails of other extensions look.
 *
 * `routes` takes what is posted and asks the interactions of `lib/oidc` to go on. A page is a view model (`view-models`), which `render` turns into a document:
 * `views/` has a pure function for each page, and `views/parts/` what pages share. Views read no request and decide nothing; words come from `texts/`,
 * headers from `lib/http/pages`. `registration/` proves the address of who creates an account.
 */
import type { Extension } from '../../lib/extension-door.js';
import { createWriteLetter } from './letter.js';
import { createShowPage } from './protocol-pages.js';
import { registrationClient, registrationLinkRoutes } from './registration/link-pages.js';
import { creatingBrowsers, registrationBrowsers, waitingRegistrations } from './registration/records.js';
import { registrationDeliveries } from './registration/sending.js';
import { texts } from './registration/texts/index.js';
import { signInRoutes } from './routes.js';

export const signIn = (): Extension => ({
  name: 'sign-in',
  artifacts: [waitingRegistrations, registrationBrowsers, creatingBrowsers],
  texts,
  routes(router, context) {
    signInRoutes(router, context);
    registrationLinkRoutes(router, context);
  },
  deliveries: registrationDeliveries,
  clients: registrationClient,
  pages: createShowPage,
  letters: createWriteLetter,
});
