/**
 * Sign-in at other OpenID providers: those of the instance, and those that a tenant's people have an account at.
 *
 * A connection is a record, with operations of the admin API (`admin/`). `method` takes the browser to its provider, `routes` gets it back. `upstream/` speaks
 * OpenID Connect with the provider, `people/` finds whose account the answer opens. A person is never found by an e-mail address.
 */
import type { Extension, ExtensionContext } from '../../lib/extension-door.js';
import { connectionOperations, errors } from './admin/operations.js';
import { connectionSeed } from './admin/seed.js';
import { createConnectionBook } from './book.js';
import { createMethod } from './method.js';
import { createPages } from './pages.js';
import { createPeople } from './people/accounts.js';
import { createApplications } from './people/linking.js';
import { begun, connections as collection, domains, leaving, spent, strangers } from './records.js';
import { connectionRoutes } from './routes.js';
import { texts } from './texts/index.js';
import { createUpstreamLogout } from './upstream/logout.js';
import { createProviders } from './upstream/provider.js';
import { createConnectionSecrets } from './upstream/secrets.js';

function partsOf(context: ExtensionContext) {
  const book = createConnectionBook(context);
  const secrets = createConnectionSecrets(context);
  const providers = createProviders(context, secrets);
  const pages = createPages(context);
  return { context, book, secrets, providers, pages, people: createPeople(context), method: createMethod(context, book, providers, pages) };
}

export const connections = (): Extension => {
  const made = new WeakMap<ExtensionContext, ReturnType<typeof partsOf>>();
  /** The parts are the same for all that the extension adds to one service. */
  const of = (context: ExtensionContext) => {
    const known = made.get(context) ?? partsOf(context);
    made.set(context, known);
    return known;
  };
  return {
    name: 'connections',
    errorCodes: errors.codes,
    collections: [collection, domains],
    artifacts: [begun, spent, strangers, leaving],
    texts,
    seed: connectionSeed(of),
    resources: (context) => connectionOperations(of(context)),
    signInMethods: (context) => [of(context).method],
    clients: (context) => createApplications(context, of(context).book),
    logoutParticipant: (context) => createUpstreamLogout(context, of(context).book, of(context).providers),
    routes: (router, context) => connectionRoutes(router, of(context)),
  };
};
