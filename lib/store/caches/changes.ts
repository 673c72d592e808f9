/**
 * Caches: each node keeps the rows that it has read until a node writes their collection.
 *
 * `changes` is the change feed. One row counts the writes to each collection, and every node reads that row each second. `cache` keeps
 * values by key, and `read-through` fills a cache from a collection.
 */
import { isToldAlready } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { nodeTime } from '../../times/node-time.js';
import type { CheckedCollection, CheckedDirectory } from '../records/checked-directory.js';
import { collections } from '../records/collections.js';
import type { ChangeRecord } from '../records/records.js';

const ROW_ID = 'revisions';

type Revisions = ChangeRecord['revisions'];

export interface ChangeFeedOptions {
  /** Milliseconds between two reads of the counts. */
  readonly pollInterval: number;
  /** Handles a change of a collection, on this node or another. */
  readonly onChange: (collection: string) => void;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

export interface ChangeFeed {
  /**
   * Notifies this node immediately, and the other nodes at their next read of the counts, that rows of a collection were written. Call the
   * method after the write. The returned promise never rejects, because the write is done. While the store is unavailable, the notice to the
   * other nodes waits.
   */
  changed(collection: string): Promise<void>;
  /**
   * Announces a write of unknown outcome, which the store may still make. Notifies this node immediately, and all nodes at their next read of the counts.
   */
  mayHaveChanged(collection: string): void;
  close(): void;
}

/** @param directory with {@link collections.changes} opened. */
export function createChangeFeed(directory: CheckedDirectory, { pollInterval, onChange, logger }: ChangeFeedOptions): ChangeFeed {
  const rows = directory.collection<ChangeRecord>(collections.changes.name);
  const untold = new Set<string>();
  let seen: Revisions = {};
  let isLooking = false;
  let isDown = false;

  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
      if (isDown) logger.info({}, 'the change feed is available again');
      isDown = false;
    } catch (error) {
      if (isToldAlready(error)) return;
      if (!isDown) logger.warn({ err: error }, 'the change feed is unavailable, so nodes see changes of other nodes late');
      isDown = true;
    }
  };

  const tell = async (collection: string): Promise<void> => {
    untold.delete(collection);
    try {
      await bump(rows, collection);
    } catch (error) {
      untold.add(collection);
      throw error;
    }
  };

  const look = async (): Promise<void> => {
    for (const collection of [...untold]) await tell(collection);
    const revisions = (await rows.get(ROW_ID))?.revisions ?? {};
    const moved = Object.keys({ ...seen, ...revisions }).filter((name) => seen[name] !== revisions[name]);
    seen = revisions;
    for (const name of moved) onChange(name);
  };

  const timer = setInterval(async () => {
    if (isLooking) return;
    isLooking = true;
    await attempt(look);
    isLooking = false;
  }, pollInterval).unref();

  return {
    async changed(collection) {
      onChange(collection);
      await attempt(() => tell(collection));
    },
    mayHaveChanged(collection) {
      onChange(collection);
      untold.add(collection);
    },
    close: () => clearInterval(timer),
  };
}

async function bump(rows: CheckedCollection<ChangeRecord>, collection: string): Promise<void> {
  await rows.upsert(ROW_ID, (row, isUnreadable) => {
    // The counts may restart, because other nodes clear the cache of every collection whose count differs.
    if (isUnreadable) return { id: ROW_ID, revisions: { [collection]: nodeTime() } };
    const revisions = row?.revisions ?? {};
    return { ...row, id: ROW_ID, revisions: { ...revisions, [collection]: (revisions[collection] ?? 0) + 1 } };
  });
}
