import { IdpError } from '../errors.js';
import type { Row, Unsaved } from '../store/directory-store.js';
import type { CheckedCollection } from '../store/records/checked-directory.js';
import type { CollectionName } from '../store/records/collections.js';
import type { PendingEvent } from '../store/records/records.js';
import type { DirectoryContext } from './context.js';

/** A collection that reads rows through the caches. */
export interface CachedCollection<R extends Row> {
  get(id: string): Promise<R | undefined>;
  /** Returns the row, if the caches have it. */
  peek(id: string): R | undefined;
  /** @throws IdpError `not_found`. */
  require(id: string): Promise<R>;
  insert(row: Unsaved<R>): Promise<R>;
  /** @throws IdpError `not_found`. */
  update(id: string, change: (row: R) => Unsaved<R>): Promise<R>;
  /**
   * @param event of the removal
   * @param isMeant false for a row that must stay, such as another record with the same id
   * @throws IdpError `not_found`.
   */
  remove(id: string, event: PendingEvent, isMeant?: (row: R) => boolean): Promise<void>;
}

export function createCachedCollection<R extends Row>(
  name: CollectionName,
  rows: CheckedCollection<R>,
  { caches }: Pick<DirectoryContext, 'caches'>,
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
    insert: (row) => rows.insert(row),
    async update(id, change) {
      const row = await rows.update(id, change);
      if (row === undefined) throw new IdpError('not_found');
      return row;
    },
    async remove(id, event, isMeant) {
      if (!(await rows.retire(id, [event], isMeant))) throw new IdpError('not_found');
    },
  };
}
