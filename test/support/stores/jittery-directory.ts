import type { DirectoryStore } from '../../../lib/store/directory-store.js';
import { withCollections } from '../../store/with-collections.js';

/**
 * Returns a store whose calls overtake each other at random, and whose `update` always loses its first attempt. A remote store does so
 * under load.
 */
export function jitteryDirectory(store: DirectoryStore, random: () => number): DirectoryStore {
  const pause = async () => {
    for (let turns = Math.floor(random() * 4); turns > 0; turns -= 1) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const late =
    <A extends unknown[], T>(call: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      await pause();
      return call(...args);
    };
  return withCollections(store, (rows) => ({
    get: late(rows.get),
    find: late(rows.find),
    range: late(rows.range),
    insert: late(rows.insert),
    put: late(rows.put),
    async update(id, change) {
      await pause();
      const stale = await rows.get(id);
      if (stale !== undefined) change(stale);
      await pause();
      const row = await rows.update(id, change);
      await pause();
      return row;
    },
    remove: late(rows.remove),
  }));
}

/** Returns a generator of random numbers from 0 to 1. The same seed gives the same numbers. */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    // A linear congruential generator, as in Numerical Recipes.
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
