/** SAML 2.0 identity provider: off unless it is among the `extensions`. */
import { type Extension, perContext } from '../../lib/extension-door.js';
import { createEntities } from './entities/entity.js';
import { keyEvents } from './entities/key-events.js';
import { keyErrors, keyRings } from './entities/key-ring.js';
import { createSamlKeys } from './entities/keys.js';
import { metadataRoutes } from './entities/metadata-routes.js';
import { keyOperations } from './entities/operations.js';
import { checkSamlOptions, resolveSamlOptions, type SamlOptions } from './options.js';
import { createServiceProviderBook } from './service-providers/book.js';
import { errors } from './service-providers/errors.js';
import { eventTypes } from './service-providers/events.js';
import { serviceProviderProblems } from './service-providers/health.js';
import { serviceProviderOperations } from './service-providers/operations.js';
import { serviceProviders } from './service-providers/records.js';
import { createRefresh } from './service-providers/refresh.js';
import { createRegistrar } from './service-providers/registration.js';
import { serviceProviderSeed } from './service-providers/seed.js';
import { createWrites } from './service-providers/writes.js';

export type { SamlKeyPair } from './entities/signer.js';
export type { SamlOptions } from './options.js';

export function saml(options: SamlOptions = {}): Extension {
  const partsOf = perContext((context) => {
    const resolved = resolveSamlOptions(options);
    const { entityId, tenantEntities } = resolved;
    const book = createServiceProviderBook(context);
    const registrar = createRegistrar(context);
    const writes = createWrites(context, book);
    return {
      context,
      keys: createSamlKeys(context, resolved),
      entities: createEntities(context, entityId),
      tenantEntities,
      options: resolved,
      book,
      registrar,
      writes,
      refresh: createRefresh(context, registrar, writes),
    };
  });
  return {
    name: 'saml',
    check: (report) => checkSamlOptions(options, report),
    errorCodes: { ...keyErrors.codes, ...errors.codes },
    collections: [serviceProviders, keyRings],
    events: [...keyEvents, ...eventTypes],
    seed: serviceProviderSeed(partsOf),
    resources: (context) => [...keyOperations(partsOf(context).keys), ...serviceProviderOperations(partsOf(context))],
    jobs: (context) => [partsOf(context).refresh.job],
    routes: (router, context) => metadataRoutes(router, context, partsOf(context)),
    start: (context) => partsOf(context).keys.start(),
    health: async (context) => [...(await partsOf(context).keys.problems()), ...(await serviceProviderProblems(context))],
  };
}
