/** Bounded caches of durable records. The change feed makes the caches forget records that change. */

import type { Lease } from '../../background/tenure.js';
import type { Logger } from '../../logger.js';
import type { Row } from '../directory-store.js';
import type { CheckedDirectory } from '../records/checked-directory.js';
import { collections, hasOutbox } from '../records/collections.js';
import { createChangeFeed } from './changes.js';
import { createReadThrough, type ReadThrough, type ReadThroughOptions } from './read-through.js';

export interface CachesOptions {
  /** Returns the time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
  /** The lease of the removal of old entries of the change feed. @default every node removes them */
  readonly lease?: Lease;
  /** Milliseconds between two looks at what other nodes changed. Default: 1000. */
  readonly pollInterval?: number;
  /** Milliseconds after which a value is loaded again, change or not. Default: 60 000. */
  readonly ttl?: number;
  /** Values kept, for each cache. Default: 10 000. */
  readonly max?: number;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
}

/** A cache for readers. All callers share the values, so no caller may change one. */
export type Cached<V> = Pick<ReadThrough<V>, 'get' | 'peek'>;

/** Handles writes of rows of a collection. @param ids of the rows; undefined if any row may have been written */
export type ChangeListener = (ids: readonly string[] | undefined) => void;

export interface OverOptions extends Pick<ReadThroughOptions, 'standsInOutage'> {
  /**
   * Whether each key is the id of the one row that its value is made of. A change then makes the cache forget the values of the changed rows
   * alone. @default false: a change clears the cache
   */
  readonly isById?: boolean;
}

export interface Caches {
  /** Returns the rows of a collection by id. All callers get the same cache. */
  rows<R extends Row>(collection: string): Cached<R>;
  /** Creates a cache of the values of `load`, which may read no other collections. */
  over<V extends object>(collections: readonly string[], load: (key: string) => Promise<V | undefined>, options?: OverOptions): Cached<V>;
  /** Calls the listener when rows of a collection were written, on this node or another. All nodes are notified of writes of watched collections. */
  watch(collection: string, listener: ChangeListener): void;
  /** Calls the listener with a collection in which a write of another node left background work, at the next look. */
  onWork(listener: (collection: string) => void): void;
  /**
   * Makes the caches of all nodes forget a row: on this node immediately, on other nodes within the poll interval. After an outage, other nodes forget the
   * row when the store can be reached again. Each write of a watched collection notifies the caches, so this method is for a write that a node may have
   * made before the node died. The returned promise never rejects.
   */
  changed(collection: string, id: string): Promise<void>;
  /** Stops looking for changes. */
  close(): Promise<void>;
}

/**
 * Collections whose rows are not answered from a cache while the store is unavailable, because a row decides whether a user may continue.
 */
const unansweredInOutage: ReadonlySet<string> = new Set([collections.persons.name]);

const hasWork = (collection: string): boolean => hasOutbox(collection) || collection === collections.removals.name;

/** @param directory with the cached collections and `changes` opened. */
export function createCaches(
  directory: CheckedDirectory,
  { now, lease, pollInterval = 1000, ttl = 60_000, max = 10_000, logger }: CachesOptions,
): Caches {
  const dependants = new Map<string, ChangeListener[]>();
  const byId = new Map<string, ReadThrough<object>>();
  const workListeners: ((collection: string) => void)[] = [];

  const feed = createChangeFeed(directory, {
    now,
    lease,
    pollInterval,
    logger,
    onChange: (collection, ids) => {
      for (const listener of dependants.get(collection) ?? []) listener(ids);
    },
    onWork: (collection) => {
      for (const listener of workListeners) listener(collection);
    },
    onGap: () => {
      for (const listeners of dependants.values()) for (const listener of listeners) listener(undefined);
    },
  });

  directory.onWrite(({ collection, id, isUnknown, isOfEvents, leavesWork }) => {
    const isCached = dependants.has(collection) && !isOfEvents;
    // Other collections, the feed's own above all, leave no work: a notice of a notice that failed would fail forever.
    if (isUnknown) return isCached || hasWork(collection) ? feed.mayHaveChanged(collection, id) : undefined;
    if (isCached) return feed.changed(collection, id, leavesWork);
    // Nobody waits for the dispatch of an event.
    return leavesWork ? feed.leftWork(collection) : undefined;
  });

  const watch = (collection: string, listener: ChangeListener): void => {
    dependants.set(collection, [...(dependants.get(collection) ?? []), listener]);
  };

  const over = <V extends object>(
    sources: readonly string[],
    load: (key: string) => Promise<V | undefined>,
    { isById = false, ...given }: OverOptions & Pick<ReadThroughOptions, 'isUnansweredInOutage'> = {},
  ): ReadThrough<V> => {
    const cache = createReadThrough(load, { max, ttl, currency: feed, ...given });
    const forget: ChangeListener = (ids) => {
      if (isById && ids) for (const id of ids) cache.forget(id);
      else cache.clear();
    };
    for (const collection of sources) watch(collection, forget);
    return cache;
  };

  const rows = <R extends Row>(collection: string): ReadThrough<R> => {
    const existing = byId.get(collection);
    if (existing !== undefined) return existing as ReadThrough<R>;
    const source = directory.collection<R>(collection);
    const cache = over([collection], (id) => source.get(id), {
      isById: true,
      isUnansweredInOutage: unansweredInOutage.has(collection),
    });
    byId.set(collection, cache);
    return cache;
  };

  return {
    rows,
    over,
    watch,
    onWork: (listener) => void workListeners.push(listener),
    changed: (collection, id) => feed.changed(collection, id),
    close: feed.close,
  };
}
