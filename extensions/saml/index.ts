/** SAML 2.0 identity provider: off unless it is among the `extensions`. */
import { type Extension, perContext } from '../../lib/extension-door.js';
import { createEntities } from './entities/entity.js';
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

const partsOf = perContext((context) => {
  const entities = createEntities(context);
  const book = createServiceProviderBook(context);
  const registrar = createRegistrar(context);
  const writes = createWrites(context, book);
  return { context, entities, book, registrar, writes, refresh: createRefresh(context, registrar, writes) };
});

export const saml = (): Extension => ({
  name: 'saml',
  collections: [serviceProviders],
  errorCodes: errors.codes,
  events: eventTypes,
  seed: serviceProviderSeed(partsOf),
  resources: (context) => serviceProviderOperations(partsOf(context)),
  jobs: (context) => [partsOf(context).refresh.job],
  health: serviceProviderProblems,
});
