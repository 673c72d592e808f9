/** Bounded caches of durable records, which the change feed clears when records change. */
import type { Logger } from '../../logger.js';
import type { Row } from '../directory-store.js';
import type { CheckedDirectory } from '../records/checked-directory.js';
import { createChangeFeed } from './changes.js';
import { createReadThrough, type ReadThrough, type ReadThroughOptions } from './read-through.js';

export interface CachesOptions {
  /** Milliseconds between two looks at what other nodes changed. Default: 1000. */
  readonly pollInterval?: number;
  /** Milliseconds after which a value is loaded again, change or not. Default: 60 000. */
  readonly ttl?: number;
  /** Values kept, for each cache. Default: 10 000. */
  readonly max?: number;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/** A cache for readers. All callers share the values, so no caller may change one. */
export type Cached<V> = Pick<ReadThrough<V>, 'get' | 'peek'>;

export interface Caches {
  /** Returns the rows of a collection by id. All callers get the same cache. */
  rows<R extends Row>(collection: string): Cached<R>;
  /** Creates a cache of the values of `load`. A change of one of the collections clears the cache, so `load` may read no others. */
  over<V extends object>(
    collections: readonly string[],
    load: (key: string) => Promise<V | undefined>,
    options?: Pick<ReadThroughOptions, 'standsInOutage'>,
  ): Cached<V>;
  /** Calls the listener when rows of a collection were written, on this node or another. */
  watch(collection: string, listener: () => void): void;
  /**
   * Clears the caches of a collection: on this node immediately, on other nodes within the poll interval, or once the store can be reached
   * again. Call the method after each write to the collection. The returned promise never rejects.
   */
  changed(collection: string): Promise<void>;
  /** Stops looking for changes. */
  close(): void;
}

/** @param directory with the cached collections and `changes` opened. */
export function createCaches(
  directory: CheckedDirectory,
  { pollInterval = 1000, ttl = 60_000, max = 10_000, logger }: CachesOptions,
): Caches {
  const dependants = new Map<string, (() => void)[]>();
  const byId = new Map<string, ReadThrough<object>>();

  const watch = (collection: string, listener: () => void): void => {
    dependants.set(collection, [...(dependants.get(collection) ?? []), listener]);
  };

  const over = <V extends object>(
    collections: readonly string[],
    load: (key: string) => Promise<V | undefined>,
    given?: Pick<ReadThroughOptions, 'standsInOutage'>,
  ): ReadThrough<V> => {
    const cache = createReadThrough(load, { max, ttl, ...given });
    for (const collection of collections) watch(collection, () => cache.clear());
    return cache;
  };

  const rows = <R extends Row>(collection: string): ReadThrough<R> => {
    const existing = byId.get(collection);
    if (existing !== undefined) return existing as ReadThrough<R>;
    const source = directory.collection<R>(collection);
    const cache = over([collection], (id) => source.get(id));
    byId.set(collection, cache);
    return cache;
  };

  const { changed, mayHaveChanged, close } = createChangeFeed(directory, {
    pollInterval,
    logger,
    onChange: (collection) => {
      for (const listener of dependants.get(collection) ?? []) listener();
    },
  });

  directory.onUncertain((collection) => {
    if (dependants.has(collection)) mayHaveChanged(collection);
  });

  return { rows, over, watch, changed, close };
}
