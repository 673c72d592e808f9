import type { Collection, DirectoryStore, Row } from '../../lib/store/directory-store.js';

/** Returns the methods of a collection as an object of functions, so that some can be replaced. */
export const boundMethods = <R extends Row>(rows: Collection<R>): Collection<R> => ({
  get: (id) => rows.get(id),
  find: (where, page) => rows.find(where, page),
  range: (range) => rows.range(range),
  insert: (row) => rows.insert(row),
  put: (row) => rows.put(row),
  update: (id, change) => rows.update(id, change),
  remove: (id, version) => rows.remove(id, version),
});

/** Returns a directory whose collections have some methods replaced. */
export const withCollections = (
  store: DirectoryStore,
  replace: <R extends Row>(rows: Collection<R>, name: string) => Partial<Collection<R>>,
): DirectoryStore => ({
  ...store,
  collection<R extends Row>(name: string): Collection<R> {
    const rows = boundMethods(store.collection<R>(name));
    return { ...rows, ...replace(rows, name) };
  },
});
