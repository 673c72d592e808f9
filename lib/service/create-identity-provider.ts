/** The composition root: options in, a running identity provider out. With `lib/composition`, the one place that imports across folders. */
import { randomBytes, randomUUID } from 'node:crypto';
import { memoryArtifacts, memoryDirectory } from '../../adapters/memory/index.js';
import { cibaFor, introspectScopesFor, standardClaims, standardExtensions } from '../../extensions/index.js';
import { checkApiResources } from '../claims/api-resources.js';
import { identityScopes } from '../claims/declarations.js';
import { createClaimResolver } from '../claims/resolver.js';
import { withAdditions } from '../contract/assembly/added-configuration.js';
import {
  adminApiOf,
  byExtension,
  clientEndpointOf,
  clientRulesOf,
  discoveryOf,
  endImpersonationAtOf,
  grantTypesOf,
  impersonationRulesOf,
  lettersOf,
  operationsOf,
  pagesOf,
  seedPiecesOf,
} from '../contract/assembly/contributions.js';
import { createSignInOffers } from '../contract/assembly/sign-in-offers.js';
import type { ExtensionPages } from '../contract/context/pages.js';
import type { Extension } from '../contract/extension.js';
import type { ContextOf } from '../contract/extension-context.js';
import { applySeed, createDirectory, createKeyRotation, createPasswords } from '../directory/index.js';
import { StoreAwayError, UnavailableError } from '../errors.js';
import { createFetchProblem } from '../fetch/fetch-rules.js';
import { createGuardedFetch } from '../fetch/guarded-fetch.js';
import { createRemoteDocuments } from '../fetch/remote-documents.js';
import { createApp } from '../http/app.js';
import { checkGuards, type Guarded } from '../http/clients/bearer.js';
import { createAddressOf } from '../http/clients/client-address.js';
import { createCountWrongSecret } from '../http/clients/wrong-secrets.js';
import { createCallback, createMiddleware } from '../http/hosts.js';
import { createWelcome, isWelcome } from '../http/pages/welcome.js';
import { createCookieCheck } from '../http/requests/cookie-check.js';
import { createCsrf } from '../http/requests/csrf.js';
import { readForm } from '../http/requests/form.js';
import { ANSWER_KEPT_SECONDS, createRepeatedForms } from '../http/requests/repeated-forms.js';
import { createServers } from '../http/servers.js';
import { withBareErrors } from '../logger.js';
import { createClientKeySets } from '../oidc/clients/key-sets.js';
import { routes } from '../oidc/configuration.js';
import { createRotatingKeys } from '../oidc/keys/rotation.js';
import { createProtocol } from '../oidc/protocol.js';
import { createBrowsers } from '../oidc/sessions/browsers.js';
import { cookieName } from '../oidc/sessions/cookies.js';
import { sendParticipantNotices } from '../oidc/sessions/logout-participants.js';
import { defaults } from '../options/defaults.js';
import { developmentNotice, OWN_SECRET_LENGTH } from '../options/insecure.js';
import type { IdentityProviderOptions } from '../options/options.js';
import { resolveOptions } from '../options/resolve.js';
import { createCaches } from '../store/caches/cache.js';
import { createHealth } from '../store/outages/health.js';
import { createRowSweep } from '../store/records/row-sweep.js';
import { createSealer } from '../store/sealer.js';
import { createAttempts } from './attempts.js';
import { findProblems } from './configuration-problems.js';
import { createExtensionContexts } from './extension-context.js';
import { collectionNames, createFormAnswers, createRecords, createRowsOfExtensions, extensionEventSources } from './extension-data.js';
import { createExtensionWork } from './extension-work.js';
import type { IdentityProvider } from './identity-provider.js';
import { invitationRulesOf, recoveryRulesOf } from './link-rules.js';
import { createMail } from './mail.js';
import { openStores } from './open-stores.js';

/** Longer than the dispatcher needs for a round, or keys to be made, in milliseconds. */
const LEASE_MS = 10_000;

/** The composition root. `on-first-use` loads it, and documents the factory. */
export async function createIdentityProvider(input: IdentityProviderOptions): Promise<IdentityProvider> {
  const standard = standardExtensions();
  const given = resolveOptions(input, process.env, await findProblems(input, { extensions: standard, claims: standardClaims(defaults) }));
  const throwAway = () => [randomBytes(32).toString('base64url')] as const;
  const [madeSalt] = throwAway();
  const options = given.subjectSalt === undefined && !given.production ? { ...given, subjectSalt: madeSalt } : given;
  const { issuer, mountPath } = options;
  const logger = withBareErrors(options.logger);
  const notice = developmentNotice(given);
  if (notice) logger.warn({ issuer }, notice);
  if (options.subjectSalt === undefined)
    logger.info(
      { issuer },
      'Discovery does not list the subject type pairwise, because the option subjectSalt is missing. Sign-ins to pairwise clients are refused. Set subjectSalt to a secret of at least 16 characters to have pairwise clients.',
    );

  const extensions: readonly Extension[] = [...standard, ...options.extensions];
  const { artifacts, now, store } = await openStores(options, extensions, logger, {
    artifacts: memoryArtifacts,
    directory: memoryDirectory,
  });
  const extensionRows = createRowsOfExtensions(extensions, { store, nudge: () => directory.outbox.nudge(), now });
  const sealer = createSealer(options.keys.encryption ?? throwAway());
  const cookieKeys = options.cookies.keys ?? throwAway();
  const caches = createCaches(store, { logger });
  const node = randomUUID();
  const offers = createSignInOffers(extensions);
  const claimSets = [...standardClaims(options), ...extensions.flatMap((extension) => extension.claims ?? []), ...options.claims];
  const claims = createClaimResolver(claimSets, { logger, mapping: options.claimMapping });

  const fetchProblem = createFetchProblem({ ...options.outgoing, production: options.production });
  const operations = once(() => operationsOf(extensions, contextOf));
  const ownApi = once(() => adminApiOf(operations()));
  const directory = createDirectory({
    store,
    caches,
    sealer,
    hasher: createPasswords(options.passwords),
    passwordRules: options.passwords,
    now,
    lease: (work, holder = node, ms = LEASE_MS) => artifacts.lease(work, holder, ms),
    logger,
    issuer,
    clientRules: { ...clientRulesOf(options, extensions, fetchProblem), problemsOfSchema: (client) => protocol.problemsOf(client) },
    identityScopes: identityScopes(claims.scopes.keys()),
    means: offers.means,
    ...(options.impersonation && { privileged: [options.impersonation.permission] }),
    invitations: invitationRulesOf(options),
    recovery: recoveryRulesOf(options),
    ownApi,
    eventRetention: options.lifetimes.events,
    eventSources: extensionEventSources(extensions),
    erase: extensionRows.hasErasure ? extensionRows.erase : undefined,
    removeRows: extensionRows.removeTenant,
    ...(options.production ? { ownSecretLength: OWN_SECRET_LENGTH } : {}),
  });
  directory.onPersonExport(extensionRows.export);
  const closing: (() => Promise<void>)[] = [];
  const sweep = createRowSweep({
    store,
    collections: collectionNames(extensions),
    problemOf: directory.problemOf,
    lease: (ms) => artifacts.lease('sweep of records', node, ms),
    now,
    logger,
  });
  const stop = async () => {
    await sweep.close();
    for (const close of closing.splice(0)) await close();
    await directory.close();
    caches.close();
  };
  const begun = <T>(step: Promise<T>): Promise<T> =>
    step.catch(async (error: unknown) => {
      await stop();
      if (!(error instanceof UnavailableError)) throw error;
      throw new StoreAwayError(error.details.store === store.name ? 'directory' : 'artifact', String(error.details.store), error.cause);
    });
  const browsers = createBrowsers(options);
  const [csrfKey] = sealer.derive('csrf');
  const csrf = createCsrf(csrfKey, new URL(issuer).origin, browsers);
  const cookieCheck = createCookieCheck({
    sendsCookies: browsers.sendsCookies,
    issuer,
    showPage: (ctx, page) => showPage(ctx, page),
    logger,
  });
  const repeatedForms = createRepeatedForms({
    cookieCheck,
    records: createFormAnswers({ artifacts, now, sealer }, ANSWER_KEPT_SECONDS),
    hash: (text) => sealer.hashes('forms', text)[0],
    formOf: csrf.formOf,
    signIn: (ctx) => protocol.signInState(ctx),
    sessionCookie: cookieName('session', options),
    isOver: (ctx) => protocol.isSignInOver(ctx),
    showUnderWay: (ctx) => showPage(ctx, { page: 'under-way' }),
    logger,
  });
  const { attempts, close: closeAttempts } = createAttempts(artifacts);
  closing.push(closeAttempts);
  const countWrongSecret = createCountWrongSecret(attempts, now);
  const fetch = createGuardedFetch(options.outgoing);
  const remote = createRemoteDocuments(fetch);
  // They are asked for once there are contexts.
  const lateContextOf: ContextOf = (name) => contextOf(name);
  const participants = byExtension(extensions, lateContextOf, 'logoutParticipant');
  const impersonationRules = byExtension(extensions, lateContextOf, 'impersonation');
  const clientsOfExtensions = byExtension(extensions, lateContextOf, 'clients');
  const backchannel = clientEndpointOf(extensions, lateContextOf);
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
    repeatedForms,
    countWrongSecret,
    logger,
    showPage: (ctx, page) => showPage(ctx, page),
    offers,
    grantTypes: grantTypesOf(extensions, lateContextOf),
    backchannel,
    participants,
    impersonationRules: impersonationRulesOf(impersonationRules),
    endImpersonationAt: endImpersonationAtOf(extensions, lateContextOf),
    withAdditions: (configuration) => withAdditions(configuration, extensions, contextOf),
    clientsOfExtensions,
    cookieKeys,
    addressOf: createAddressOf(options.trustProxy, logger),
    discovery: () => discovery,
  });
  const records = createRecords({ extensions, rows: extensionRows, artifacts, now, sealer, directory });
  const work = createExtensionWork({ extensions, directory, artifacts, sealer, node, logger });
  const brandingOf: ExtensionPages['brandingOf'] = async (tid, clientId) => {
    const [tenant, client] = await Promise.all([
      directory.tenants.get(tid),
      clientId === undefined ? undefined : directory.clients.get(clientId),
    ]);
    return { ...(tenant && { tenant }), ...(client?.status === 'active' && { client }) };
  };
  const guards: Guarded[] = [];
  const guard = (guarded: Guarded) => void guards.push(guarded);
  const contextOf = createExtensionContexts({
    options,
    protocol,
    directory,
    claims,
    logger,
    now,
    extensions,
    operations,
    showPage: (ctx, page) => showPage(ctx, page),
    guard,
    http: { csrf, fetch, fetchProblem },
    brandingOf,
    records,
    work: {
      deliver: work.deliver,
      emit: work.emit,
      ...(options.mail && {
        mail: createMail({ options: options.mail, write: (letter, look) => writeLetter(letter, look), attempts, brandingOf, logger }),
      }),
    },
    keys: { rotate: (rotateOptions) => keys.rotate(rotateOptions), list: () => keys.list(), seal: work.seal },
    limits: { attempts, countWrongSecret },
  });
  const showPage = pagesOf(extensions, contextOf);
  const writeLetter = lettersOf(extensions, contextOf);
  await begun((async () => sendParticipantNotices({ participants, directory }))());
  await begun(offers.fill(contextOf));
  const discovery = discoveryOf(extensions, contextOf, [...Object.keys(routes), 'backchannel_authentication']);
  const rotation = createKeyRotation({
    rows: store.collection('signingKeys'),
    clients: store.collection('clients'),
    isLogged: (id) => store.collection('events').has({ byEvent: [id] }),
    changed: () => caches.changed('signingKeys'),
    nudge: directory.outbox.nudge,
    sealer,
    lease: () => artifacts.lease('signing keys', node, LEASE_MS),
    policy: options.keys.rotation,
    logger,
    now,
  });
  const watch = (listener: () => void) => caches.watch('signingKeys', listener);
  const keys = await begun(createRotatingKeys({ given: options.keys.signing, rotation, watch, use: protocol.useKeys, logger, now }));
  closing.push(keys.close);
  await begun(directory.removedUserIds.begin());
  await begun(directory.nationalIds.begin());
  // Clients of the seed are checked by oidc-provider, which is made with the keys.
  await begun(applySeed(directory, options.seed, logger, seedPiecesOf(extensions, contextOf)));
  await begun(checkApiResources(claimSets, async () => (await directory.apiResources.find()).map(({ id }) => id)));
  await begun(directory.policies.begin());
  await begun(work.start(contextOf));
  closing.unshift(work.close);
  // Asked for now: a wrong answer is refused at the start, and not when somebody signs in.
  await begun((async () => [impersonationRules(), clientsOfExtensions(), backchannel?.()])());

  const app = await begun(
    (async () =>
      createApp({
        protocol,
        issuer,
        mountPath,
        own: options.paths.own,
        extensions,
        contextOf,
        showPage,
        isBehindProxy: options.trustProxy !== 0,
        limits: options.limits,
        repeatedForms,
        logger,
      }))(),
  );
  await begun(checkGuards(guards, directory));
  const callback = createCallback(app);
  const welcome = createWelcome({ issuer, authorization: routes.authorization, clients: options.seed?.clients ?? [], showPage });
  const servers = createServers((req, res) =>
    !options.production && isWelcome(req) ? callback(req, res, () => welcome(req, res)) : callback(req, res),
  );
  // Whoever made us listens first.
  setImmediate(directory.outbox.start);
  directory.keyCompletion.start();
  sweep.start();
  directory.tenantRemoval.start();

  return {
    issuer,
    directory,
    get provider() {
      return protocol.provider as never;
    },
    sessions: protocol.sessions,
    events: directory.events,
    keys: { rotate: keys.rotate },
    tenant: (tid) => directory.forTenant(tid),
    introspectScopes: introspectScopesFor(contextOf('scope-introspection')),
    ciba: cibaFor(contextOf('ciba')),
    middleware: () => createMiddleware(app),
    callback: () => callback,
    listen: (port, host) => servers.listen(port, host),
    health: createHealth({
      artifacts,
      directory: store,
      problems: [
        directory.policies.problems,
        async () => {
          await sweep.recall();
          return [...(await store.problems()), ...sweep.problems()];
        },
        rotation.problems,
        directory.problems,
        work.problems,
      ],
    }),
    async close() {
      await servers.close();
      await stop();
      await Promise.all([artifacts.close(), store.close()]);
    },
  };
}

/** What is made when it is first asked for. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
