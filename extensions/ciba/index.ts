/**
 * Decoupled sign-in (CIBA): a client requests the sign-in of a user, who approves on their own device.
 *
 * `endpoint` accepts the request, with `parameters` and `hints`. `requests/` stores the request and its outcome. `grant` issues the tokens, and `polling`
 * limits how often a client asks for them. `clients` checks the metadata of clients. `person/` has the pages on which the user answers. `notifications/`
 * notifies the user of requests, and clients and listeners of decisions.
 * @see OpenID Connect Client-Initiated Backchannel Authentication Flow, Core 1.0
 */
import type { AuthenticationRequests, Extension, ExtensionContext } from '../../lib/extension-door.js';
import { clientMetadata, clientProblems } from './clients.js';
import { createEndpoint } from './endpoint.js';
import { createCibaGrant } from './grant.js';
import { createDeliveries } from './notifications/deliveries.js';
import { createAnnounce, createAnnounceRequest, eventTypes } from './notifications/events.js';
import { inboxPath } from './person/pages.js';
import { createPersonClients, personRoutes } from './person/routes.js';
import { requestKind } from './requests/record.js';
import { createRequests, GRANT_TYPE, type Requests } from './requests/requests.js';
import { userRequestsKind } from './requests/user-requests.js';
import { texts } from './texts/index.js';

export const ciba = (): Extension => ({
  name: 'ciba',
  artifacts: [requestKind, userRequestsKind],
  clientMetadata,
  clientProblems,
  configure: () => ({ features: { ciba: { enabled: true, deliveryModes: ['poll', 'ping'] } } }),
  clientEndpoints: {
    backchannel_authentication: (context) => createEndpoint(context, announcedRequests(context), createAnnounceRequest(context)),
  },
  grantTypes: { [GRANT_TYPE]: createCibaGrant },
  events: eventTypes,
  texts,
  accountSections: [
    {
      name: 'ciba',
      group: 'signIn',
      title: 'ciba.inbox.title',
      summary: 'ciba.inbox.summary',
      href: ({ service }) => service.url(inboxPath(service)),
    },
  ],
  clients: createPersonClients,
  routes(router, context) {
    personRoutes(router, context, announcedRequests(context));
  },
  deliveries: (context) => createDeliveries(context, createRequests(context)),
  discovery: () => ({ backchannel_user_code_parameter_supported: false }),
});

/** Returns the requests, with notifications of their decisions. */
const announcedRequests = (context: ExtensionContext): Requests => createRequests(context, createAnnounce(context));

/** Returns the API by which the host reads and decides requests in its own process. */
export function cibaFor(context: ExtensionContext): AuthenticationRequests {
  const requests = announcedRequests(context);
  return {
    pendingOf: (oid) => requests.pendingOf(oid),
    read: (id) => requests.read(id),
    approve: (id, approver, by) => requests.approve(id, approver, by),
    deny: (id, reason, by) => requests.deny(id, reason, by),
  };
}
