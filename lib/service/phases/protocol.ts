/** The third phase: the protocol, and the signing keys that `start` loads. */
import { attemptLimitRules, namedLimits } from '../../contract/attempt-limits.js';
import type { Csrf } from '../../contract/context/http.js';
import type { ExtensionLimits } from '../../contract/context/limits.js';
import { createLimits } from '../../contract/limit.js';
import { createKeyRotation, type KeyRotation } from '../../directory/index.js';
import { createGuardedFetch, type GuardedFetch } from '../../fetch/guarded-fetch.js';
import { createRemoteDocuments } from '../../fetch/remote-documents.js';
import { createAddressOf } from '../../http/clients/client-address.js';
import { createCountWrongSecret } from '../../http/clients/wrong-secrets.js';
import { createCookieCheck } from '../../http/requests/cookie-check.js';
import { createCsrf } from '../../http/requests/csrf.js';
import { readForm } from '../../http/requests/form.js';
import { ANSWER_KEPT_SECONDS, createRepeatedForms } from '../../http/requests/repeated-forms.js';
import { createClientKeySets } from '../../oidc/clients/key-sets.js';
import { createRotatingKeys, type RotatingKeys } from '../../oidc/keys/rotation.js';
import { createProtocol, type Protocol } from '../../oidc/protocol.js';
import { createBrowsers } from '../../oidc/sessions/browsers.js';
import { cookieName } from '../../oidc/sessions/cookies.js';
import { createAttempts } from '../attempts.js';
import { createFormRecords } from '../form-records.js';
import type { Settings } from '../settings.js';
import type { OpenDirectory } from './directory.js';
import type { OpenStores } from './stores.js';

export interface OpenProtocol {
  readonly protocol: Protocol;
  readonly keys: RotatingKeys;
  readonly rotation: KeyRotation;
  readonly limits: ExtensionLimits;
  readonly csrf: Csrf;
  readonly fetch: GuardedFetch;
}

export function openProtocol(settings: Settings, stores: OpenStores, { directory, schemaOfClients }: OpenDirectory): OpenProtocol {
  const { options, additions, claims, logger } = settings;
  const { artifacts, now, sealer, cookieKeys, closing } = stores;
  const browsers = createBrowsers(options);
  const csrf = createCsrf(sealer.derive('csrf')[0], new URL(options.issuer).origin, browsers);
  const { showPage } = additions;
  const cookieCheck = createCookieCheck({ sendsCookies: browsers.sendsCookies, issuer: options.issuer, showPage, logger });
  const { attempts, close } = createAttempts(artifacts);
  closing.add(close);
  const records = createFormRecords({ artifacts, now, sealer }, ANSWER_KEPT_SECONDS);
  closing.add(records.close);
  const rules = attemptLimitRules(options.limits);
  const limit = namedLimits(rules, createLimits(attempts, now));
  const countWrongSecret = createCountWrongSecret(limit('secretsOfClient'), now);
  const fetch = createGuardedFetch(options.outgoing);
  const remote = createRemoteDocuments(fetch);
  const protocol = createProtocol({
    options,
    artifacts,
    now,
    directory,
    sealer,
    claims,
    browsers,
    fetch,
    remote,
    clientKeySets: createClientKeySets(remote, logger),
    readForm,
    csrf,
    cookieCheck,
    repeatedForms: (signIns) =>
      createRepeatedForms({
        cookieCheck,
        records,
        hash: (text) => sealer.hashes('forms', text)[0],
        formOf: csrf.formOf,
        signIns,
        sessionCookie: cookieName('session', options),
        showUnderWay: (ctx) => showPage(ctx, { page: 'under-way' }),
        logger,
      }),
    countWrongSecret,
    logger,
    showPage,
    offers: additions.offers,
    grantTypes: additions.grantTypes,
    backchannel: additions.backchannel,
    participants: additions.participants,
    impersonationRules: additions.impersonationRules,
    endImpersonationAt: additions.endImpersonationAt,
    withAdditions: additions.configuration,
    clientsOfExtensions: additions.clients,
    discovery: additions.discovery,
    cookieKeys,
    addressOf: createAddressOf(options.trustProxy, logger),
  });
  schemaOfClients.give(protocol.problemsOf);
  const rotation = createRotation(settings, stores);
  const watch = (listener: () => void) => stores.caches.watch('signingKeys', listener);
  const keys = createRotatingKeys({ given: options.keys.signing, rotation, watch, use: protocol.useKeys, logger, now });
  closing.add(keys.close);
  return { protocol, keys, rotation, limits: { rules, limit, attempts, countWrongSecret }, csrf, fetch };
}

function createRotation({ options, logger }: Settings, stores: OpenStores): KeyRotation {
  const { store, sealer, now, lease } = stores;
  return createKeyRotation({
    rows: store.collection('signingKeys'),
    clients: store.collection('clients'),
    isLogged: (id) => store.collection('events').has({ byEvent: [id] }),
    sealer,
    lease: () => lease('signing keys'),
    policy: options.keys.rotation,
    logger,
    now,
  });
}
