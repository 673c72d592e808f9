/** Writes that bypass the services, as another program or a restore makes them, so that caches do not learn of them. */
import { v7 } from 'uuid';
import { UnavailableError } from '../../../lib/errors.js';
import { ChangeReader } from '../../../lib/store/caches/change-log.js';
import type { DirectoryStore, Row } from '../../../lib/store/directory-store.js';
import type { CheckedCollection } from '../../../lib/store/records/checked-directory.js';
import type { ChangeRecord } from '../../../lib/store/records/records.js';
import { withCollections } from '../../store/with-collections.js';

/**
 * Adds an entry to the change feed. All nodes read the entry at their next look, and forget the rows of the collection. As with every
 * entry, the id is above the ids that the log has, even if a test has stopped the clock.
 */
export async function tellChange(directory: DirectoryStore, collection: string): Promise<Row> {
  const rows = directory.collection<ChangeRecord>('changes');
  const reader = new ChangeReader({ rows: rows as CheckedCollection<ChangeRecord>, now: Date.now, onEntry: () => {}, onGap: () => {} });
  await reader.look();
  return rows.insert({ id: v7({ msecs: Math.max(Date.now(), reader.base?.lowestTime ?? 0) }), writes: [{ collection }] });
}

/** Returns a directory, and a way to make the caches of the node over the directory forget a row immediately. */
export function forgettable(store: DirectoryStore) {
  let isLost = false;
  const directory = withCollections(store, (rows) => ({
    async update(id, change) {
      if (isLost) throw new UnavailableError('store_unavailable', { store: 'memory' }, { cause: new Error('No answer') });
      return rows.update(id, change);
    },
  }));
  return {
    directory,
    /** Forgets the row that the update would change. The update has an unknown outcome for the node, and writes nothing. */
    async forget(update: () => Promise<unknown>): Promise<void> {
      isLost = true;
      try {
        await update().catch(() => undefined);
      } finally {
        isLost = false;
      }
    },
  };
}
