/**
 * Decoupled sign-in (CIBA): an application asks for a person, who approves on a device of their own.
 * @see OpenID Connect Client-Initiated Backchannel Authentication Flow, Core 1.0
 */
import type { Extension } from '../../lib/extension-door.js';
import { createCibaGrant } from './grant.js';
import { createPersonClients, personRoutes } from './person/routes.js';
import { bookKind } from './requests/book.js';
import { requestKind } from './requests/record.js';
import { createRequests, GRANT_TYPE } from './requests/requests.js';
import { createDeliveries } from './telling/deliveries.js';
import { createAnnounce, eventTypes } from './telling/events.js';
import { texts } from './texts/index.js';

export const ciba = (): Extension => ({
  name: 'ciba',
  artifacts: [requestKind, bookKind],
  grantTypes: { [GRANT_TYPE]: createCibaGrant },
  events: eventTypes,
  texts,
  clients: createPersonClients,
  routes(router, context) {
    personRoutes(router, context, createRequests(context, createAnnounce(context)));
  },
  deliveries: (context) => createDeliveries(context, createRequests(context)),
});
