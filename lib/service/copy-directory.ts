/** Copy of a directory from one store to another, so that a service can change its adapter. */
import { isDeepStrictEqual } from 'node:util';
import type { Extension } from '../contract/extension.js';
import { IdpError } from '../errors.js';
import type { Collection, DirectoryStore, Row } from '../store/directory-store.js';
import { positionBehind } from '../store/index-order.js';
import { collections } from '../store/records/collections.js';
import type { ChangeRecord } from '../store/records/records.js';
import { extensionSpecs } from './extension-data.js';
import { allExtensions } from './settings.js';

/** Maximum rows in one read. */
const PAGE = 500;
/** Maximum rows that are written at the same time. */
const PARALLEL = 8;

export interface DirectoryCopy {
  /** The store with the records. No service may use the store during the copy. */
  readonly from: DirectoryStore;
  /** The store that gets the records: an empty store, or a store in which an interrupted run of the same copy left records. */
  readonly to: DirectoryStore;
  /** The option `extensions` of the service. Rows of an extension that is not named are not copied. @default [] */
  readonly extensions?: readonly Extension[];
}

/** Copies all rows, as `on-first-use` describes. */
export async function copyDirectory({ from, to, extensions = [] }: DirectoryCopy): Promise<Readonly<Record<string, number>>> {
  const specs = [...Object.values(collections), ...extensionSpecs(allExtensions(extensions))];
  await Promise.all([from.open(specs), to.open(specs)]);
  const changes = from.collection<ChangeRecord>(collections.changes.name);
  const before = await changes.find({});
  const counts: Record<string, number> = {};
  for (const { name } of specs) counts[name] = await copyRows(name, from.collection(name), to.collection(name));
  if (isDeepStrictEqual(await changes.find({}), before)) return counts;
  throw new IdpError('conflict', { collection: collections.changes.name, reason: 'the source was written during the copy' });
}

async function copyRows(collection: string, from: Collection<Row>, to: Collection<Row>): Promise<number> {
  let count = 0;
  for (let after: string | undefined; ; ) {
    const rows = await from.find({}, { limit: PAGE, ...(after !== undefined && { after }) });
    for (let start = 0; start < rows.length; start += PARALLEL) {
      await Promise.all(rows.slice(start, start + PARALLEL).map((row) => copyRow(collection, row, to)));
    }
    count += rows.length;
    after = positionBehind(rows, after);
    if (rows.length < PAGE || after === undefined) return count;
  }
}

/** Inserts the row, unless an earlier run of the copy inserted the same row. */
async function copyRow(collection: string, row: Row, to: Collection<Row>): Promise<void> {
  try {
    await to.insert(row);
  } catch (error) {
    // Another program may have written the row. The service cannot read this row, and the store of another adapter may refuse the row.
    if (error instanceof TypeError) throw new IdpError('invalid_record', { collection, id: String(row.id) }, { cause: error });
    if (!IdpError.is(error, 'conflict')) throw error;
    const existing = await to.get(row.id);
    if (!isDeepStrictEqual(existing && { ...existing, version: row.version }, row)) {
      throw new IdpError('conflict', { collection, id: row.id }, { cause: error });
    }
  }
}
