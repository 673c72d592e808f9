/**
 * SAML 2.0 identity provider. The identity provider is off unless the host lists it in `extensions`.
 *
 * `front-door/` receives every message: `bindings/` takes it from the HTTP request, `reading/` and `xml/` read it. `sso/` turns an AuthnRequest into a
 * sign-in of the service, and the sign-in into a Response. `slo/` is single logout in both directions. `messages/` has the messages that both send and
 * receive. `entities/` has the identity provider's entityIDs and signing keys. `service-providers/` has the registered service providers. `registration/`
 * writes the registered service providers, with the help of `metadata-reader/`.
 */
import { type Extension, perContext } from '../../lib/extension-door.js';
import { entityEvents } from './entities/events.js';
import { keyErrors, keyRings } from './entities/key-ring.js';
import { keyOperations } from './entities/operations.js';
import { entitySettings } from './entities/settings.js';
import { settingsOperations } from './entities/settings-operations.js';
import { seenMessages } from './front-door/replay.js';
import { checkSamlOptions, resolveSamlOptions, type SamlOptions } from './options.js';
import { createParts } from './parts.js';
import { serviceProviderProblems } from './registration/health.js';
import { serviceProviderOperations } from './registration/operations.js';
import { serviceProviderSeed } from './registration/seed.js';
import { samlRoutes } from './routes.js';
import { errors } from './service-providers/errors.js';
import { eventTypes } from './service-providers/events.js';
import { serviceProviders } from './service-providers/records.js';
import { pendingLogouts } from './slo/incoming.js';
import { logoutSequences, sentLogoutRequests } from './slo/logout-sequence.js';
import { createLogoutParticipant } from './slo/participant.js';
import { participantSessions } from './slo/participants.js';
import { createClients } from './sso/clients.js';
import { pendingRequests } from './sso/pending-request.js';
import { texts } from './texts/index.js';

export type { SamlKeyPair } from './entities/published-keys.js';
export type { SamlOptions } from './options.js';

/**
 * Makes the service a SAML 2.0 identity provider, with the same pages, requirements and sessions as for OpenID Connect.
 * @example
 * ```ts
 * import { createIdentityProvider } from 'tenant-idp';
 * import { saml } from 'tenant-idp/extensions/saml';
 *
 * export const idp = await createIdentityProvider({ issuer: 'http://localhost:3000', extensions: [saml()] });
 * ```
 */
export function saml(options: SamlOptions = {}): Extension {
  const partsOf = perContext((context) => createParts(context, resolveSamlOptions(options)));
  return {
    name: 'saml',
    check: (report) => checkSamlOptions(options, report),
    errorCodes: { ...keyErrors.codes, ...errors.codes },
    collections: [serviceProviders, keyRings, entitySettings],
    artifacts: [seenMessages, pendingRequests, participantSessions, logoutSequences, sentLogoutRequests, pendingLogouts],
    events: [...entityEvents, ...eventTypes],
    texts,
    seed: serviceProviderSeed(partsOf),
    clients: (context) => createClients(context, partsOf(context).activeServiceProviders),
    logoutParticipant: (context) => createLogoutParticipant(partsOf(context)),
    routes: (router, context) => samlRoutes(router, partsOf(context)),
    resources: (context) => {
      const parts = partsOf(context);
      return [...keyOperations(parts.keys), ...settingsOperations(parts), ...serviceProviderOperations(parts)];
    },
    jobs: (context) => [partsOf(context).refresh.job],
    start: (context) => partsOf(context).keys.start(),
    health: async (context) => [...(await partsOf(context).keys.problems()), ...(await serviceProviderProblems(context))],
  };
}
