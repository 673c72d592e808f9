/** The stores of a running service, opened: those of the options, else of this process. */

import type { Extension } from '../contract/extension.js';
import type { Logger } from '../logger.js';
import type { ResolvedOptions } from '../options/defaults.js';
import type { ArtifactStore } from '../store/artifact-store.js';
import type { DirectoryStore } from '../store/directory-store.js';
import { CallTimeouts } from '../store/outages/call-timeouts.js';
import { createReachableArtifacts, createReachableDirectory } from '../store/outages/reachable.js';
import { type CheckedDirectory, createCheckedDirectory } from '../store/records/checked-directory.js';
import { collections } from '../store/records/collections.js';
import { inOwnTime, inStoreTime } from '../store/times/store-time.js';
import { extensionRowChecks, extensionSpecs } from './extension-data.js';

interface Memory {
  artifacts(): ArtifactStore;
  directory(): DirectoryStore;
}

/** @param memory what stands in for a store that the options do not have. */
export async function openStores(
  options: Pick<ResolvedOptions, 'artifacts' | 'directory' | 'keys'>,
  extensions: readonly Extension[],
  logger: Logger,
  memory: Memory,
): Promise<{ readonly artifacts: ArtifactStore; readonly now: () => number; readonly store: CheckedDirectory }> {
  // What is in this process cannot be out of reach.
  const callTimeouts = new CallTimeouts();
  const timed = options.artifacts ? inStoreTime(options.artifacts, logger) : inOwnTime(memory.artifacts());
  const artifacts = options.artifacts ? createReachableArtifacts(timed.store, callTimeouts, logger) : timed.store;
  const durable = options.directory ? createReachableDirectory(options.directory, callTimeouts, logger) : memory.directory();
  await Promise.all([artifacts.open(), durable.open([...Object.values(collections), ...extensionSpecs(extensions)])]);
  const directory = options.keys.encryption ? durable : await withOwnKeys(durable, memory.directory());
  return {
    artifacts,
    now: timed.now,
    store: createCheckedDirectory(directory, { logger, now: timed.now, ofOthers: extensionRowChecks(extensions) }),
  };
}

/** Signing keys that only this process can decipher stay in it. */
async function withOwnKeys(store: DirectoryStore, own: DirectoryStore): Promise<DirectoryStore> {
  await own.open([collections.signingKeys]);
  return { ...store, collection: (name) => (name === collections.signingKeys.name ? own : store).collection(name) };
}
