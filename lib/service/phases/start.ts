/** The last phase: signing keys, seed and extensions start, and the service answers requests. */
import { checkApiResources } from '../../claims/api-resources.js';
import { applySeed } from '../../directory/index.js';
import { type App, createApp } from '../../http/app.js';
import { checkGuards } from '../../http/clients/bearer.js';
import { createCallback } from '../../http/hosts.js';
import { createWelcome, isWelcome } from '../../http/pages/welcome.js';
import { createServers, type Servers } from '../../http/servers.js';
import { routes } from '../../oidc/configuration.js';
import { sendParticipantNotices } from '../../oidc/sessions/logout-participants.js';
import { createHealth, type Health } from '../../store/outages/health.js';
import { createRowSweep, type RowSweep } from '../../store/records/row-sweep.js';
import { collectionNames } from '../extension-data.js';
import type { RequestListener } from '../identity-provider.js';
import type { Settings } from '../settings.js';
import type { OpenDirectory } from './directory.js';
import type { OpenExtensions } from './extensions.js';
import type { OpenProtocol } from './protocol.js';
import type { OpenStores } from './stores.js';

export interface Started {
  readonly app: App;
  readonly callback: RequestListener;
  /** Servers of `listen`. */
  readonly servers: Servers;
  readonly health: () => Promise<Health>;
}

/** @throws ConfigError for wrong values of extensions and seeds, UnavailableError */
export async function start(
  settings: Settings,
  stores: OpenStores,
  { directory }: OpenDirectory,
  { protocol, keys, rotation }: OpenProtocol,
  { contextOf, work, guards }: OpenExtensions,
): Promise<Started> {
  const { options, extensions, additions, claimSets, logger } = settings;
  const { closing } = stores;
  sendParticipantNotices({ participants: additions.participants, directory });
  await additions.offers.fill(contextOf);
  additions.discovery();
  await keys.begin();
  await directory.removedUserIds.begin();
  await directory.nationalIds.begin();
  // oidc-provider checks clients of the seed, and is created with the signing keys.
  await applySeed(directory, options.seed, logger, additions.seedPieces);
  await checkApiResources(claimSets, async () => (await directory.apiResources.find()).map(({ id }) => id));
  await directory.policies.begin();
  await work.start(contextOf);
  closing.add(work.close);
  // Called at the start, so that a wrong value stops the start and not a sign-in.
  additions.impersonationsOf();
  additions.clients();
  additions.backchannel?.();
  const app = createApp({
    protocol,
    issuer: options.issuer,
    mountPath: options.mountPath,
    own: options.paths.own,
    extensions,
    contextOf,
    showPage: additions.showPage,
    isBehindProxy: options.trustProxy !== 0,
    limits: options.limits,
    repeatedForms: protocol.repeatedForms,
    logger,
  });
  await checkGuards(guards, directory);
  const sweep = startWork(settings, stores, directory);
  const { artifacts, store } = stores;
  const rowProblems = async () => {
    await sweep.recall();
    return [...(await store.problems()), ...sweep.problems()];
  };
  const problems = [directory.policies.problems, rowProblems, rotation.problems, keys.problems, directory.problems, work.problems];
  return { app, ...createListeners(settings, app), health: createHealth({ artifacts, directory: store, problems }) };
}

/** Creates the listener of hosts and the servers of `listen`, which have a welcome page in development. */
function createListeners({ options, additions }: Settings, app: App): Pick<Started, 'callback' | 'servers'> {
  const callback = createCallback(app);
  if (options.production) return { callback, servers: createServers(callback) };
  const { issuer, seed } = options;
  const { showPage } = additions;
  const welcome = createWelcome({ issuer, authorization: routes.authorization, clients: seed?.clients ?? [], showPage });
  const servers = createServers((req, res) => (isWelcome(req) ? callback(req, res, () => welcome(req, res)) : callback(req, res)));
  return { callback, servers };
}

/** Starts the work in the background. */
function startWork({ extensions, logger }: Settings, stores: OpenStores, directory: OpenDirectory['directory']): RowSweep {
  const { artifacts, store, node, now, closing } = stores;
  const sweep = createRowSweep({
    store,
    collections: collectionNames(extensions),
    problemOf: directory.problemOf,
    lease: (ms) => artifacts.lease('sweep of records', node, ms),
    now,
    logger,
  });
  closing.add(() => sweep.close());
  // The code that created the service registers its listeners first.
  setImmediate(() => directory.outbox.start());
  directory.keyCompletion.start();
  sweep.start();
  directory.tenantRemoval.start();
  directory.signInSweep.start();
  return sweep;
}
