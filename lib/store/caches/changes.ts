/**
 * Caches: each node keeps the rows that it has read until a node writes them.
 *
 * `changes` is the change feed: a log of writes that every node reads each second. `change-notices` adds the writes of this node to the log,
 * and `change-log` reads the log and removes old entries. `cache` keeps values by key, and `read-through` fills a cache from a collection.
 */

import { type Rounds, rounds } from '../../background/rounds.js';
import type { Lease } from '../../background/tenure.js';
import { isToldAlready } from '../../errors.js';
import type { Logger } from '../../logger.js';
import type { CheckedDirectory } from '../records/checked-directory.js';
import { collections } from '../records/collections.js';
import type { ChangeRecord } from '../records/records.js';
import { ChangeReader, removeOldChanges } from './change-log.js';
import { ChangeNotices } from './change-notices.js';
import type { Currency } from './read-through.js';

/** Milliseconds after its last look for which a node is current, but at least two intervals. */
const CURRENT_MS = 2_000;
/** Milliseconds between two removals of old entries. */
const REMOVAL_MS = 30_000;

export interface ChangeFeedOptions {
  /** Returns the time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
  /** The lease of the removal of old entries. @default every node removes them */
  readonly lease: Lease | undefined;
  /** Milliseconds between two looks at the log. */
  readonly pollInterval: number;
  /** Handles a write of rows of a collection, on this node or another. @param ids undefined if any row may have been written */
  readonly onChange: (collection: string, ids: readonly string[] | undefined) => void;
  /** Handles background work that a write of another node left in a collection, or a write of unknown outcome of this node. */
  readonly onWork: (collection: string) => void;
  /** Handles a gap: any row of any collection may have been written. */
  readonly onGap: () => void;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
}

export interface ChangeFeed extends Currency {
  /**
   * Notifies this node immediately, and the other nodes at their next look, that a row was written. Call the method after the write. The
   * returned promise never rejects, because the write is done. While the store is unavailable, the notice to the other nodes waits.
   */
  readonly changed: (collection: string, id: string, leavesWork?: boolean) => Promise<void>;
  /** Notifies the other nodes at their next look that a write left background work in a collection. */
  readonly leftWork: (collection: string) => undefined;
  /**
   * Announces a write of unknown outcome, which the store may still make. Notifies this node immediately. All nodes are notified at the next
   * look, and again when the store cannot make the write any more.
   */
  readonly mayHaveChanged: (collection: string, id: string) => undefined;
  readonly close: () => Promise<void>;
}

/** @param directory with {@link collections.changes} opened. */
export function createChangeFeed(directory: CheckedDirectory, options: ChangeFeedOptions): ChangeFeed {
  const { now, lease, pollInterval, onChange, onWork, onGap, logger } = options;
  const rows = directory.collection<ChangeRecord>(collections.changes.name);
  const handle = (writes: ChangeRecord['writes']): void => {
    for (const { collection, ids, work } of writes) {
      if (ids?.length !== 0) onChange(collection, ids);
      if (work) onWork(collection);
    }
  };
  const reader = new ChangeReader({
    rows,
    now,
    onEntry: ({ writes }) => handle(writes),
    onGap,
  });
  const notices = new ChangeNotices({ rows, now, reader });
  const currentMs = Math.max(CURRENT_MS, 2 * pollInterval);
  let isLooking = false;
  let isDown = false;

  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
      if (isDown) logger.info({}, 'the change feed is available again');
      isDown = false;
    } catch (error) {
      if (isToldAlready(error)) return;
      if (!isDown) logger.warn({ err: error }, 'the change feed is unavailable, so this node reads records from the store');
      isDown = true;
    }
  };

  const sendAll = (): Promise<void> => {
    handle(notices.takeUnknown());
    return notices.send();
  };

  const look = async (): Promise<void> => {
    try {
      await reader.look();
    } finally {
      // Other nodes rely on the notices even if this node cannot read the log.
      await sendAll();
    }
  };

  const timer = setInterval(async () => {
    if (isLooking) return;
    isLooking = true;
    await attempt(look);
    isLooking = false;
  }, pollInterval).unref();
  const removal = removalOf(directory, { reader, lease, logger });
  removal.start();

  return {
    isCurrent: () => performance.now() - reader.lookedAt <= currentMs,
    async changed(collection, id, leavesWork = false) {
      onChange(collection, [id]);
      notices.add(collection, id);
      if (leavesWork) notices.addWork(collection);
      await attempt(() => notices.send());
    },
    leftWork(collection) {
      notices.addWork(collection);
      void attempt(() => notices.send());
    },
    mayHaveChanged(collection, id) {
      onChange(collection, [id]);
      notices.addUnknown(collection, id);
    },
    async close() {
      clearInterval(timer);
      await Promise.all([removal.close(), attempt(sendAll)]);
    },
  };
}

function removalOf(
  directory: CheckedDirectory,
  { reader, lease, logger }: Pick<ChangeFeedOptions, 'lease' | 'logger'> & { readonly reader: ChangeReader },
): Rounds {
  const rows = directory.collection<ChangeRecord>(collections.changes.name);
  return rounds({
    name: 'change feed',
    every: REMOVAL_MS,
    first: REMOVAL_MS,
    ...(lease && { lease }),
    async run({ signal }) {
      await removeOldChanges({ find: rows.withUnreadable().find, remove: rows.remove }, reader, signal);
      return undefined;
    },
    logger,
    messages: { round: 'the service could not remove old entries of the change feed, and retries' },
  });
}
