/** The composition root: options in, a running identity provider out. The one file that imports across folders. */
import { randomBytes, randomUUID } from 'node:crypto';
import { memoryArtifacts, memoryDirectory } from '../adapters/memory/index.js';
import { introspectScopesFor, standardClaims, standardExtensions } from '../extensions/index.js';
import { identityScopes } from './claims/declarations.js';
import { createClaimResolver } from './claims/resolver.js';
import type { FoundProblems } from './config-problem.js';
import { findExtensionProblems, findIdentityScopes } from './contract/checks.js';
import { discoveryOf, pagesOf } from './contract/contributions.js';
import type { Extension, ExtensionContext, ShowPage } from './contract/extension.js';
import { createSignInOffers } from './contract/sign-in-offers.js';
import { applySeed, createDirectory, createKeyRotation, createPasswords, findSeedProblems } from './directory/index.js';
import { StoreAwayError, UnavailableError } from './errors.js';
import { createGuardedFetch } from './fetch/guarded-fetch.js';
import { createRemoteDocuments } from './fetch/remote-documents.js';
import { createApp, type ProtocolApp } from './http/app.js';
import { createAddressOf } from './http/client-address.js';
import { createCsrf } from './http/csrf.js';
import { form } from './http/form.js';
import { createCallback, createMiddleware } from './http/hosts.js';
import { requestIdOf } from './http/request-id.js';
import { createServers } from './http/servers.js';
import { createWelcome, isWelcome } from './http/welcome.js';
import { createCountWrongSecret } from './http/wrong-secrets.js';
import type { IdentityProvider } from './identity-provider.js';
import { withBareErrors } from './logger.js';
import { describeScopes } from './oidc/accounts/scopes.js';
import { createClientKeySets } from './oidc/clients/key-sets.js';
import { routes } from './oidc/configuration.js';
import type { SigningKeys } from './oidc/keys/keys.js';
import { createRotatingProtocol, type RotatingProtocol } from './oidc/keys/rotation.js';
import { createProtocol, type Protocol } from './oidc/protocol.js';
import { browserStateCookie } from './oidc/sessions/browser-state.js';
import { createBrowsers } from './oidc/sessions/browsers.js';
import { developmentNotice, OWN_SECRET_LENGTH } from './options/insecure.js';
import type { IdentityProviderOptions } from './options/options.js';
import { resolveOptions } from './options/resolve.js';
import { hashedKey } from './store/artifact-key.js';
import { createCaches } from './store/cache.js';
import { CallTimeouts } from './store/call-timeouts.js';
import { createCheckedDirectory } from './store/checked-directory.js';
import { collections } from './store/collections.js';
import type { DirectoryStore } from './store/directory-store.js';
import { createHealth } from './store/health.js';
import { createKeyring } from './store/keyring.js';
import { createReachableArtifacts, createReachableDirectory } from './store/reachable.js';
import { inStoreTime } from './store/store-time.js';

/** Longer than the dispatcher needs for a round, or keys to be made, in milliseconds. */
const LEASE_MS = 10_000;

/**
 * Resolves when it can serve: stores opened, keys loaded, seed applied.
 * @throws ConfigError with everything that is wrong with the options; IdpError `store_unavailable`, which names the store that is away.
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 * import { createIdentityProvider } from 'tenant-idp';
 *
 * const idp = await createIdentityProvider({
 *   issuer: 'http://localhost:3000',
 *   seed: {
 *     tenants: [{ name: 'Acme', persons: [{ givenName: 'Alice', familyName: 'Adams', user: { userName: 'alice', devPassword: 'alice' } }] }],
 *     clients: [
 *       {
 *         id: 'web',
 *         name: 'Web',
 *         secret: 'web-secret',
 *         allowedScopes: ['openid', 'profile'],
 *         metadata: { redirect_uris: ['http://localhost:3001/callback'] },
 *       },
 *     ],
 *   },
 * });
 * createServer(idp.callback()).listen(3000);
 * ```
 */
export async function createIdentityProvider(input: IdentityProviderOptions): Promise<IdentityProvider> {
  const standard = standardExtensions();
  const options = resolveOptions(input, process.env, await findProblems(input, standard));
  const { issuer, mountPath } = options;
  const logger = withBareErrors(options.logger);
  const notice = developmentNotice(options);
  if (notice) logger.warn({ issuer }, notice);

  // What is in this process cannot be out of reach.
  const callTimeouts = new CallTimeouts();
  const artifacts = options.artifacts
    ? createReachableArtifacts(inStoreTime(options.artifacts, logger), callTimeouts, logger)
    : memoryArtifacts();
  const durable = options.directory ? createReachableDirectory(options.directory, callTimeouts, logger) : memoryDirectory();
  await Promise.all([artifacts.open(), durable.open(Object.values(collections))]);
  const store = createCheckedDirectory(options.keys.encryption ? durable : await withOwnKeys(durable), logger);
  const throwAway = () => [randomBytes(32).toString('base64url')];
  const keyring = createKeyring(options.keys.encryption ?? throwAway());
  const cookieKeys = options.cookies.keys ?? throwAway();
  const caches = createCaches(store, { logger });
  const node = randomUUID();
  const extensions: readonly Extension[] = [...standard, ...options.extensions];
  const offers = createSignInOffers(extensions);
  const claims = createClaimResolver(
    [...standardClaims(options), ...extensions.flatMap((extension) => extension.claims ?? []), ...options.claims],
    {
      logger,
      mapping: options.claimMapping,
    },
  );

  const directory = createDirectory({
    store,
    caches,
    keyring,
    hasher: createPasswords(options.passwords),
    lease: () => artifacts.lease('events', node, LEASE_MS),
    logger,
    issuer,
    ownMetadata: options.configure !== undefined,
    identityScopes: identityScopes(claims.scopes.keys()),
    means: offers.means,
    ...(options.production ? { ownSecretLength: OWN_SECRET_LENGTH } : {}),
  });
  const late: { showPage?: ShowPage; rotating?: RotatingProtocol<ProtocolApp & Protocol> } = {};
  const stop = async () => {
    await late.rotating?.close();
    await directory.close();
    caches.close();
  };
  const begun = <T>(step: Promise<T>): Promise<T> =>
    step.catch(async (error: unknown) => {
      await stop();
      if (!(error instanceof UnavailableError)) throw error;
      throw new StoreAwayError(error.details.store === store.name ? 'directory' : 'artifact', String(error.details.store), error.cause);
    });
  const showPage: ShowPage = (ctx, page) => late.showPage?.(ctx, page);
  const rotatingOf = () => late.rotating as NonNullable<typeof late.rotating>;
  const protocolOf = () => rotatingOf().current();
  const [csrfKey] = keyring.derive('csrf');
  const browsers = createBrowsers(options);
  const attempts: ExtensionContext['attempts'] = async (counter, window, by) => {
    const { count, resetsAt } = await artifacts.hit(hashedKey('Attempts', counter), window, by);
    return { count, resetsAt: new Date(resetsAt) };
  };
  const countWrongSecret = createCountWrongSecret(attempts);
  const context: ExtensionContext = {
    issuer,
    production: options.production,
    locales: options.locales,
    own: options.paths.own,
    url: (path) => issuer + path,
    directory,
    browserStateCookie: browserStateCookie(options),
    interactions: {
      load: (ctx) => protocolOf().interactions.load(ctx),
      signIn: (...call) => protocolOf().interactions.signIn(...call),
      select: (...call) => protocolOf().interactions.select(...call),
      ways: (...call) => protocolOf().interactions.ways(...call),
      idpOf: (...call) => protocolOf().interactions.idpOf(...call),
      begin: (...call) => protocolOf().interactions.begin(...call),
      strengthen: (...call) => protocolOf().interactions.strengthen(...call),
      goOn: (...call) => protocolOf().interactions.goOn(...call),
      showRequirement: (...call) => protocolOf().interactions.showRequirement(...call),
      accounts: (...call) => protocolOf().interactions.accounts(...call),
      remembered: (ctx) => protocolOf().interactions.remembered(ctx),
      forget: (...call) => protocolOf().interactions.forget(...call),
      allow: (...call) => protocolOf().interactions.allow(...call),
      abort: (...call) => protocolOf().interactions.abort(...call),
      restart: (...call) => protocolOf().interactions.restart(...call),
    },
    claims: {
      get scopes() {
        return protocolOf().claims.scopes;
      },
      about: (...call) => protocolOf().claims.about(...call),
      userIdOf: (...call) => protocolOf().claims.userIdOf(...call),
    },
    sign: (...call) => protocolOf().sign(...call),
    signingAlgorithms: algorithmsOf(options.keys),
    sessions: {
      list: (user) => protocolOf().sessions.list(user),
      end: (...call) => protocolOf().sessions.end(...call),
      endAll: (user) => protocolOf().sessions.endAll(user),
    },
    scopeDescriptions: () => describeScopes(directory, claims),
    csrf: createCsrf(csrfKey, new URL(issuer).origin, browsers.browserOf),
    attempts,
    countWrongSecret,
    limits: options.limits,
    logger,
    requestId: (ctx) => requestIdOf(ctx as never),
  };
  late.showPage = pagesOf(extensions)(context);
  await begun(offers.fill(context));
  await begun(applySeed(directory, options.seed, logger));
  await begun(directory.policies.begin());
  const addressOf = createAddressOf(options.trustProxy, logger);
  const discovery = discoveryOf(extensions, context);
  const rotation = createKeyRotation({
    rows: store.collection('signingKeys'),
    clients: store.collection('clients'),
    changed: () => caches.changed('signingKeys'),
    nudge: directory.outbox.nudge,
    keyring,
    lease: () => artifacts.lease('signing keys', node, LEASE_MS),
    policy: options.keys.rotation,
    logger,
  });
  const fetch = createGuardedFetch(options.outgoing);
  const remote = createRemoteDocuments(fetch);
  const clientKeySets = createClientKeySets(remote, logger);
  const build = (keys: SigningKeys): ProtocolApp & Protocol => {
    const protocol = createProtocol({
      options,
      artifacts,
      directory,
      keyring,
      claims,
      keys,
      browsers,
      fetch,
      remote,
      clientKeySets,
      readForm: form,
      countWrongSecret,
      logger,
      showPage,
      offers,
      cookieKeys,
      addressOf,
      discovery,
    });
    return { ...protocol, app: protocol.provider as unknown as ProtocolApp['app'] };
  };
  const watch = (listener: () => void) => caches.watch('signingKeys', listener);
  late.rotating = await begun(createRotatingProtocol({ given: options.keys.signing, rotation, watch, build, logger }));

  const app = createApp({
    protocol: protocolOf,
    mountPath,
    own: options.paths.own,
    extensions,
    context,
    showPage,
    isBehindProxy: options.trustProxy !== 0,
    limits: options.limits,
    logger,
  });
  const callback = createCallback(app);
  const welcome = createWelcome({ issuer, authorization: routes.authorization, clients: options.seed?.clients ?? [], showPage });
  const servers = createServers((req, res) =>
    !options.production && isWelcome(req) ? callback(req, res, () => welcome(req, res)) : callback(req, res),
  );
  // Whoever made us listens first.
  setImmediate(directory.outbox.start);

  return {
    issuer,
    directory,
    get provider() {
      return protocolOf().provider as never;
    },
    sessions: context.sessions,
    events: directory.events,
    keys: { rotate: (rotateOptions) => rotatingOf().rotate(rotateOptions) },
    tenant: (tid) => directory.forTenant(tid),
    introspectScopes: introspectScopesFor(context),
    middleware: () => createMiddleware(app),
    callback: () => callback,
    listen: (port, host) => servers.listen(port, host),
    health: createHealth({
      artifacts,
      directory: store,
      problems: [directory.policies.problems, store.problems, rotation.problems, directory.problems],
    }),
    async close() {
      await servers.close();
      for (const extension of extensions) await extension.close?.();
      await stop();
      await Promise.all([artifacts.close(), store.close()]);
    },
  };
}

/** What extensions, claims and the seed are about, which the options by themselves know nothing of. */
async function findProblems(input: IdentityProviderOptions, extensions: readonly Extension[]): Promise<FoundProblems> {
  const { issuer, seed, directory, configure } = (input ?? {}) as Partial<IdentityProviderOptions>;
  const standard = { extensions, claims: standardClaims({ initialsAsPicture: false }), endpoints: Object.keys(routes) };
  const { invalid = [], conflicts = [] } = findExtensionProblems(input, standard);
  const ofSeed = await findSeedProblems(seed, {
    issuer: String(issuer),
    isAlone: directory === undefined,
    ownMetadata: configure !== undefined,
    identityScopes: findIdentityScopes(input, standard),
  });
  return { invalid: [...invalid, ...ofSeed], conflicts };
}

/** Those of the keys that were given; we make one of each. */
const algorithmsOf = ({ signing }: IdentityProviderOptions['keys'] & object): readonly string[] =>
  signing ? [...new Set(signing.map(({ kty }) => (kty === 'RSA' ? 'RS256' : 'ES256')))] : ['RS256', 'ES256'];

/** Signing keys that only this process can decipher stay in it. */
async function withOwnKeys(store: DirectoryStore): Promise<DirectoryStore> {
  const own = memoryDirectory();
  await own.open([collections.signingKeys]);
  return { ...store, collection: (name) => (name === collections.signingKeys.name ? own : store).collection(name) };
}
