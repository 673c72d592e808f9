import type { Collection, Document, IndexDescription } from 'mongodb';
import { IdpError } from '../../lib/errors.js';
import { type Bounds, inTime } from './deadline.js';

/** Milliseconds: an index over many documents takes its time, and one that is given up is begun anew. */
const OPEN_DEADLINE_MS = 600_000;

/** What is there and cannot be made as it is declared. @see MongoDB error codes */
const unfit = new Map([
  [67, 'CannotCreateIndex'],
  [85, 'IndexOptionsConflict'],
  [86, 'IndexKeySpecsConflict'],
]);

/** Documents whose instant `e` has passed are removed by the server, within a minute or so. */
export const expiryIndex: IndexDescription = { name: 'expiry', key: { e: 1 }, expireAfterSeconds: 0 };

/**
 * Makes the indexes that are not there yet. Many nodes may do so at once.
 * @throws IdpError `store_unfit` when there is another index in the place of one, `conflict` when rows have the same unique value.
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
