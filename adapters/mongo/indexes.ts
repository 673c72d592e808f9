import type { Collection, Document, IndexDescription } from 'mongodb';
import { IdpError } from '../../lib/errors.js';
import { type Bounds, inTime } from './deadline.js';

/** Milliseconds for the creation of indexes. An index over many documents takes long, and an abandoned creation starts again from the beginning. */
const OPEN_DEADLINE_MS = 600_000;

/** Conflicts of an existing index with its declaration. @see MongoDB error codes */
const unfit = new Map([
  [67, 'CannotCreateIndex'],
  [85, 'IndexOptionsConflict'],
  [86, 'IndexKeySpecsConflict'],
]);

/** Index by which the server removes documents whose instant `e` has passed, usually within a minute. */
export const expiryIndex: IndexDescription = { name: 'expiry', key: { e: 1 }, expireAfterSeconds: 0 };

/**
 * Creates missing indexes. Several nodes may create indexes concurrently.
 * @throws IdpError `store_unfit` if another index has the place of a declared index, `conflict` if rows have the same unique value.
 */
export async function ensureIndexes<D extends Document>(collection: Collection<D>, indexes: readonly IndexDescription[]): Promise<void> {
  if (indexes.length === 0) return;
  const create = (bounds: Bounds) => collection.createIndexes([...indexes], bounds);
  try {
    await inTime(create, OPEN_DEADLINE_MS);
  } catch (cause) {
    const code = (cause as { code?: number }).code ?? 0;
    const details = { collection: collection.collectionName };
    if (unfit.has(code)) throw new IdpError('store_unfit', { ...details, reason: unfit.get(code) }, { cause });
    throw code === 11_000 ? new IdpError('conflict', details, { cause }) : cause;
  }
}
