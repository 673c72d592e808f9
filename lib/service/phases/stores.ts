/**
 * Phases of a start: stores, directory, protocol, extensions, start.
 *
 * Each phase takes the phases before it and returns what it created. The first phase opens the stores of the options, or stores in the memory of the node.
 * Steps that undo a phase are added to `closing`.
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from '../../logger.js';
import type { ArtifactStore } from '../../store/artifact-store.js';
import { type Caches, createCaches } from '../../store/caches/cache.js';
import type { DirectoryStore } from '../../store/directory-store.js';
import { CallTimeouts } from '../../store/outages/call-timeouts.js';
import { createReachableArtifacts, createReachableDirectory } from '../../store/outages/reachable.js';
import { type CheckedDirectory, createCheckedDirectory } from '../../store/records/checked-directory.js';
import { collections } from '../../store/records/collections.js';
import { createSealer, type Sealer } from '../../store/sealer.js';
import { inOwnTime, inStoreTime } from '../../store/times/store-time.js';
import { type Closing, createClosing } from '../closing.js';
import { extensionRowChecks, extensionSpecs } from '../extension-data.js';
import { type Settings, throwawaySecret } from '../settings.js';

export interface OpenStores {
  readonly artifacts: ArtifactStore;
  /** Durable records. */
  readonly store: CheckedDirectory;
  readonly caches: Caches;
  /** Returns the time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
  readonly sealer: Sealer;
  readonly cookieKeys: readonly string[];
  /** Id of this node. */
  readonly node: string;
  /**
   * Takes or renews the lease of a piece of work, or gives the lease back (0 ms). Returns false while another holder has the lease. @param holder @default
   * this node
   */
  readonly lease: (work: string, holder?: string, ms?: number) => Promise<boolean>;
  readonly closing: Closing;
}

/** Milliseconds of a lease. A round of the dispatcher, or the creation of signing keys, takes less. */
const LEASE_MS = 10_000;

/** Loads the stores in memory, for a service without durable stores. */
const loadMemoryStores = () => import('../../../adapters/memory/index.js');

/** @throws StoreAwayError */
export async function openStores({ options, extensions, logger }: Settings): Promise<OpenStores> {
  // A store in the memory of this node cannot be unreachable.
  const callTimeouts = new CallTimeouts();
  const timed = options.artifacts ? inStoreTime(options.artifacts, logger) : inOwnTime((await loadMemoryStores()).memoryArtifacts());
  const { now } = timed;
  const artifacts = options.artifacts ? createReachableArtifacts(timed.store, callTimeouts, logger) : timed.store;
  const durable = options.directory
    ? createReachableDirectory(options.directory, callTimeouts, logger)
    : (await loadMemoryStores()).memoryDirectory();
  await Promise.all([artifacts.open(), durable.open([...Object.values(collections), ...extensionSpecs(extensions)])]);
  if (options.production) logOneProcess(options, logger);
  const directory = options.keys.encryption ? durable : await withOwnKeys(durable);
  const store = createCheckedDirectory(directory, { logger, now, wrongPathOfExtension: extensionRowChecks(extensions) });
  const node = randomUUID();
  const lease: OpenStores['lease'] = (work, holder = node, ms = LEASE_MS) => artifacts.lease(work, holder, ms);
  const caches = createCaches(store, { now, lease: (ms) => lease('change feed', node, ms), logger });
  const closing = createClosing();
  closing.add(() => caches.close());
  return {
    artifacts,
    store,
    caches,
    now,
    sealer: createSealer(options.keys.encryption ?? [throwawaySecret()]),
    cookieKeys: options.cookies.keys ?? [throwawaySecret()],
    node,
    lease,
    closing,
  };
}

/** Logs the stores that serve one process, because a second process of the service does not start. */
function logOneProcess({ artifacts, directory }: Settings['options'], logger: Logger): void {
  const stores = [artifacts, directory].flatMap((store) => (store?.nodes === 1 ? [store.name] : []));
  if (stores.length > 0) logger.info({ stores: [...new Set(stores)] }, 'the store serves one process');
}

/** Stores signing keys in the memory of this node if only this node can decrypt them. */
async function withOwnKeys(store: DirectoryStore): Promise<DirectoryStore> {
  const own = (await loadMemoryStores()).memoryDirectory();
  await own.open([collections.signingKeys]);
  return { ...store, collection: (name) => (name === collections.signingKeys.name ? own : store).collection(name) };
}
