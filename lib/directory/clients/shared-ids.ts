import { IdpError } from '../../errors.js';
import type { Row, Unsaved } from '../../store/directory-store.js';
import type { CheckedCollection } from '../../store/records/checked-directory.js';
import type { PendingEvent } from '../../store/records/records.js';
import type { CachedCollection } from '../cached-collection.js';
import type { DirectoryContext } from '../context.js';

/** @throws IdpError `conflict` for the id of the service's own API resource. */
export function checkNotReserved(id: string, { ownApi }: Pick<DirectoryContext, 'ownApi'>): void {
  if (ownApi?.().id === id) throw new IdpError('conflict', { path: '/id' });
}

/**
 * Inserts a client or an API resource: both authenticate by name, so no two of either kind have the same.
 * @param removal what tells that the record went again, where another of the id came at the same time.
 * @throws IdpError `conflict`, with the path of the id when one of the `others` has it.
 */
export async function insertWithSharedId<R extends Row>(
  rows: CachedCollection<R>,
  row: Unsaved<R>,
  others: Pick<CheckedCollection<Row>, 'has'>,
  removal: PendingEvent,
): Promise<R> {
  const checkFree = async () => {
    if (await others.has(row.id)) throw new IdpError('conflict', { path: '/id' });
  };
  await checkFree();
  const inserted = await rows.insert(row);
  // Two insertions at once both pass the first look. Then each sees the other here, and neither stays.
  await checkFree().catch(async (error: unknown) => {
    await rows.remove(row.id, removal);
    throw error;
  });
  return inserted;
}
