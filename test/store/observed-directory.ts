import type { Collection, DirectoryStore, Row } from '../../lib/store/directory-store.js';
import { boundMethods } from './bound-methods.js';

/** A directory that counts reads, and whose `changes` fail while it is down. */
export function observed(directory: DirectoryStore) {
  const state = { reads: 0, looks: 0, isDown: false };
  const failing = async () => {
    throw new Error('connection refused');
  };
  return {
    state,
    directory: {
      ...directory,
      collection<R extends Row>(name: string): Collection<R> {
        const rows = directory.collection<R>(name);
        const changes: Partial<Collection<R>> = {
          get: async (id) => {
            state.looks += 1;
            return state.isDown ? failing() : rows.get(id);
          },
          update: async (id, change) => (state.isDown ? failing() : rows.update(id, change)),
        };
        const counted: Partial<Collection<R>> = {
          get: async (id) => {
            state.reads += 1;
            return rows.get(id);
          },
        };
        return { ...boundMethods(rows), ...(name === 'changes' ? changes : counted) };
      },
    } satisfies DirectoryStore,
  };
}
