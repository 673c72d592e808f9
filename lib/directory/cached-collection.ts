import { IdpError } from '../errors.js';
import type { CollectionName } from '../store/collections.js';
import type { Collection, Row, Unsaved } from '../store/directory-store.js';
import type { DirectoryContext } from './context.js';

/** A collection that reads rows through the caches, and tells the caches of each write. */
export interface CachedCollection<R extends Row> {
  get(id: string): Promise<R | undefined>;
  /** The row, if the caches have it. */
  peek(id: string): R | undefined;
  /** @throws IdpError `not_found`. */
  require(id: string): Promise<R>;
  insert(row: Unsaved<R>): Promise<R>;
  /** @throws IdpError `not_found`. */
  update(id: string, change: (row: R) => Unsaved<R>): Promise<R>;
  /** @throws IdpError `not_found`. */
  remove(id: string): Promise<void>;
}

export function createCachedCollection<R extends Row>(
  name: CollectionName,
  rows: Collection<R>,
  caches: DirectoryContext['caches'],
): CachedCollection<R> {
  const { get, peek } = caches.rows<R>(name);
  return {
    get,
    peek,
    async require(id) {
      const row = await get(id);
      if (row === undefined) throw new IdpError('not_found');
      return row;
    },
    async insert(row) {
      const inserted = await rows.insert(row);
      await caches.changed(name);
      return inserted;
    },
    async update(id, change) {
      let changes = false;
      const row = await rows.update(id, (current) => {
        const next = change(current);
        changes = next !== current;
        return next;
      });
      if (row === undefined) throw new IdpError('not_found');
      if (changes) await caches.changed(name);
      return row;
    },
    async remove(id) {
      if (!(await rows.remove(id))) throw new IdpError('not_found');
      await caches.changed(name);
    },
  };
}
