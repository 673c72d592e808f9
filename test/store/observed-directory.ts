import type { DirectoryStore } from '../../lib/store/directory-store.js';
import { withCollections } from './with-collections.js';

/** Returns a directory that counts reads, and whose `changes` fail while it is down. */
export function observed(directory: DirectoryStore) {
  const state = { reads: 0, looks: 0, isDown: false };
  const failing = async () => {
    throw new Error('connection refused');
  };
  return {
    state,
    directory: withCollections(directory, (rows, name) =>
      name === 'changes'
        ? {
            find: async (where, page) => {
              state.looks += 1;
              return state.isDown ? failing() : rows.find(where, page);
            },
            insert: async (row) => (state.isDown ? failing() : rows.insert(row)),
          }
        : {
            get: async (id) => {
              state.reads += 1;
              return rows.get(id);
            },
          },
    ),
  };
}
