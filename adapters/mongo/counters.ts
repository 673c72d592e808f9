import type { Collection } from 'mongodb';
import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import { isDuplicate } from './database.js';
import { inTime } from './deadline.js';

export interface CounterDocument {
  readonly _id: string;
  readonly k: number;
  readonly e: Date;
}

/**
 * Creates counters over fixed windows. One statement starts a window, and a second statement counts in the window. A single statement for both would be
 * wrong on servers compatible with MongoDB. If several such statements run concurrently, each may return the window that it would have started.
 */
export function createCounters(counters: Collection<CounterDocument>, clock: () => number): Pick<ArtifactStore, 'hit'> {
  return {
    async hit(counter, window, by = 1) {
      for (;;) {
        const now = new Date(clock());
        const added = [{ $set: { k: { $max: [0, { $add: ['$k', by] }] } } }];
        const running = await inTime((bounds) =>
          counters.findOneAndUpdate({ _id: counter, e: { $gt: now } }, added, { ...bounds, returnDocument: 'after' }),
        );
        if (running !== null) return { count: running.k, resetsAt: running.e.getTime() };
        if (by <= 0) return { count: 0, resetsAt: now.getTime() };
        const e = new Date(now.getTime() + window);
        try {
          await inTime((bounds) => counters.replaceOne({ _id: counter, e: { $lte: now } }, { k: by, e }, { ...bounds, upsert: true }));
          return { count: by, resetsAt: e.getTime() };
        } catch (error) {
          // A concurrent hit started the window.
          if (!isDuplicate(error)) throw error;
        }
      }
    },
  };
}
