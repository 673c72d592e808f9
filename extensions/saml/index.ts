/** SAML 2.0 identity provider: off unless it is among the `extensions`. */
import { type Extension, perContext } from '../../lib/extension-door.js';
import { createEntities } from './entities/entity.js';
import { keyEvents } from './entities/key-events.js';
import { keyErrors, keyRings } from './entities/key-ring.js';
import { createSamlKeys } from './entities/keys.js';
import { metadataRoutes } from './entities/metadata-routes.js';
import { keyOperations } from './entities/operations.js';
import { checkSamlOptions, resolveSamlOptions, type SamlOptions } from './options.js';
import { serviceProviders } from './service-providers/records.js';

export type { SamlKeyPair } from './entities/signer.js';
export type { SamlOptions } from './options.js';

export function saml(options: SamlOptions = {}): Extension {
  const partsOf = perContext((context) => {
    const resolved = resolveSamlOptions(options);
    return { options: resolved, entities: createEntities(context, resolved.entityId), keys: createSamlKeys(context, resolved) };
  });
  return {
    name: 'saml',
    check: (report) => checkSamlOptions(options, report),
    errorCodes: keyErrors.codes,
    collections: [serviceProviders, keyRings],
    events: keyEvents,
    resources: (context) => keyOperations(partsOf(context).keys),
    routes: (router, context) => metadataRoutes(router, context, partsOf(context)),
    start: (context) => partsOf(context).keys.start(),
    health: (context) => partsOf(context).keys.problems(),
  };
}
