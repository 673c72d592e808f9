import type { Collection } from 'mongodb';
import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import { isDuplicate } from './database.js';
import { inTime } from './deadline.js';

export interface CounterDocument {
  readonly _id: string;
  readonly k: number;
  readonly e: Date;
}

/** Counters over fixed windows. */
export function createHit(counters: Collection<CounterDocument>): ArtifactStore['hit'] {
  return async function hit(counter, window, by = 1) {
    const now = new Date();
    const running = { $gt: ['$e', now] };
    const added = { $max: [0, { $add: ['$k', by] }] };
    const begins = new Date(now.getTime() + window);
    const next = by > 0 ? { k: { $cond: [running, added, by] }, e: { $cond: [running, '$e', begins] } } : { k: added };
    const filter = by > 0 ? { _id: counter } : { _id: counter, e: { $gt: now } };
    for (;;) {
      try {
        const count = await inTime((bounds) =>
          counters.findOneAndUpdate(filter, [{ $set: next }], { ...bounds, upsert: by > 0, returnDocument: 'after' }),
        );
        return count === null ? { count: 0, resetsAt: now.getTime() } : { count: count.k, resetsAt: count.e.getTime() };
      } catch (error) {
        // Two that begin a window at once: it is there now.
        if (!isDuplicate(error)) throw error;
      }
    }
  };
}
