/**
 * Sign-in at other OpenID providers, by connections of the instance and connections of a tenant.
 *
 * A connection is a record, with operations of the admin API (`admin/`). `method` sends the browser to the provider. `answers` receives the answer.
 * `upstream/` speaks OpenID Connect with the provider. `people/` finds the accounts that the answer opens, never by an e-mail address. `account-choice` asks
 * for one of them and signs in to it.
 */
import { type Extension, perContext } from '../../lib/extension-door.js';
import { connectionOperations, errors } from './admin/operations.js';
import { connectionSeed } from './admin/seed.js';
import { createIdentityClients, identitiesPath, identityRoutes } from './identities-page.js';
import { createConnectionLookup } from './lookup.js';
import { createMethod } from './method.js';
import { Pages } from './pages.js';
import { createPeople } from './people/accounts.js';
import { createApplications } from './people/linking.js';
import { connections as collection, connectRequests, domains, sentRequests, signOuts, strangers, usedAnswers } from './records.js';
import { connectionRoutes } from './routes.js';
import { texts } from './texts/index.js';
import { createUpstreamLogout } from './upstream/logout.js';
import { Providers } from './upstream/provider.js';
import { createConnectionSecrets } from './upstream/secrets.js';
import { createMeansSource } from './vouchers.js';
import { createWaysSource } from './ways.js';

/** The parts of one service. */
const partsOf = perContext((context) => {
  const lookup = createConnectionLookup(context);
  const secrets = createConnectionSecrets(context);
  const providers = new Providers(context, secrets);
  const pages = new Pages(context);
  return {
    context,
    lookup,
    secrets,
    providers,
    pages,
    people: createPeople(context),
    method: createMethod(context, lookup, providers, pages),
  };
});

export function connections(): Extension {
  return {
    name: 'connections',
    errorCodes: errors.codes,
    collections: [collection, domains],
    events: ['ConnectionCreated', 'ConnectionUpdated', 'ConnectionRemoved', 'ConnectionSecretAdded'],
    artifacts: [sentRequests, usedAnswers, strangers, connectRequests, signOuts],
    texts,
    seed: connectionSeed(partsOf),
    start(context) {
      const { lookup } = partsOf(context);
      context.directory.means.addSource(createMeansSource(context, lookup));
      context.directory.waysIn.addSource(createWaysSource(context, lookup));
    },
    resources: (context) => connectionOperations(partsOf(context)),
    signInMethods: (context) => [partsOf(context).method],
    clients(context) {
      const applications = createApplications(context, partsOf(context).lookup);
      const own = createIdentityClients(context);
      return { ...applications, find: (id) => own.find(id) ?? applications.find(id) };
    },
    accountSections: [
      {
        name: 'identities',
        group: 'signIn',
        title: 'connections.own.title',
        summary: 'connections.own.summary',
        href: ({ service }) => service.url(identitiesPath(service)),
      },
    ],
    logoutParticipant: (context) => createUpstreamLogout(context, partsOf(context).lookup, partsOf(context).providers),
    routes(router, context) {
      connectionRoutes(router, partsOf(context));
      identityRoutes(router, context, partsOf(context).lookup);
    },
  };
}
