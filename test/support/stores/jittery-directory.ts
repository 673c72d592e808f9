import type { Collection, DirectoryStore, Row } from '../../../lib/store/directory-store.js';

/**
 * A store whose calls are overtaken by others at random, and whose `update` always loses its first attempt: what a remote one does under
 * load.
 */
export function jitteryDirectory(store: DirectoryStore, random: () => number): DirectoryStore {
  const pause = async () => {
    for (let turns = Math.floor(random() * 4); turns > 0; turns -= 1) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const jittery = <R extends Row>(rows: Collection<R>): Collection<R> => ({
    async get(id) {
      await pause();
      return rows.get(id);
    },
    async find(where, page) {
      await pause();
      return rows.find(where, page);
    },
    async range(range) {
      await pause();
      return rows.range(range);
    },
    async insert(row) {
      await pause();
      return rows.insert(row);
    },
    async put(row) {
      await pause();
      return rows.put(row);
    },
    async update(id, change) {
      await pause();
      const stale = await rows.get(id);
      if (stale !== undefined) change(stale);
      await pause();
      const row = await rows.update(id, change);
      await pause();
      return row;
    },
    async remove(id, version) {
      await pause();
      return rows.remove(id, version);
    },
  });
  return { ...store, collection: <R extends Row>(name: string) => jittery(store.collection<R>(name)) };
}

/** The same numbers from 0 to 1 for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    // A linear congruential generator, as in Numerical Recipes.
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
