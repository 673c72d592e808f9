/** The sign-in pages, and the pages that the protocol shows. */
import type { Extension } from '../../lib/extension-door.js';
import { createWriteLetter } from './letter.js';
import { createShowPage } from './protocol-pages.js';
import { registrationClient, registrationLinkRoutes } from './registration/link-pages.js';
import { begun, created, waiting } from './registration/records.js';
import { registrationDeliveries } from './registration/sending.js';
import { texts } from './registration/texts/index.js';
import { signInRoutes } from './routes.js';

export const signIn = (): Extension => ({
  name: 'sign-in',
  artifacts: [waiting, begun, created],
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
