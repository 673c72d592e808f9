/**
 * Sign-in pages, pages of the protocol, and the look of pages and mails of other extensions.
 *
 * `routes` evaluates posted forms and calls the interactions of `lib/oidc`. A page is a view model (`view-models`), which `render` turns into a document.
 * `views/` has a pure function for each page, and `views/parts/` has shared parts. Views read no request and decide nothing. Texts are in `texts/`,
 * headers in `lib/http/pages`. `registration/` proves the e-mail address of users who create an account.
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
