import { IdpError } from '../../../lib/errors.js';
import type { Row } from '../../../lib/store/directory-store.js';
import { compareTexts } from '../../../lib/store/index-order.js';
import { rowOfText } from '../../sql/row-text.js';
import type { RowPage, RowRange, StoredRow } from '../calls.js';
import type { Database } from './database.js';
import type { Statement } from './node-sqlite.js';
import { keysOf, type Registry } from './registry.js';

/** Beginning of a statement that selects the rows of entries, in the order of the entries. */
const along =
  'select r.id, r.version, r.row from idp_entries e cross join idp_rows r on r.collection = ? and r.id = e.id where e.index_id = ?';

/** Rows of all collections. A write changes the row and its entries in the transaction of the call. */
export class RowTable {
  readonly #registry: Registry;
  readonly #get: Statement;
  readonly #all: Statement;
  readonly #ofKey: Statement;
  readonly #ascending: Statement;
  readonly #descending: Statement;
  readonly #write: Statement;
  readonly #remove: Statement;
  readonly #removeEntries: Statement;

  constructor(database: Database, registry: Registry) {
    this.#registry = registry;
    this.#get = database.prepare('select id, version, row from idp_rows where collection = ? and id = ?');
    this.#all = database.prepare('select id, version, row from idp_rows where collection = ? and id > ? order by id limit ?');
    this.#ofKey = database.prepare(`${along} and e.key = ? and e.id > ? order by e.id limit ?`);
    this.#ascending = database.prepare(`${along} and (e.key, e.id) > (?, ?) and e.key < ? order by e.key, e.id limit ?`);
    this.#descending = database.prepare(`${along} and (e.key, e.id) < (?, ?) and e.key >= ? order by e.key desc, e.id desc limit ?`);
    this.#write = database.prepare(
      'insert into idp_rows values (?, ?, ?, ?) on conflict (collection, id) do update set version = excluded.version, row = excluded.row',
    );
    this.#remove = database.prepare('delete from idp_rows where collection = ? and id = ?');
    this.#removeEntries = database.prepare('delete from idp_entries where index_id = ? and id = ?');
  }

  get(collection: string, id: string): StoredRow | undefined {
    return this.#get.get(collection, id) as StoredRow | undefined;
  }

  find(collection: string, { index, after, limit }: RowPage): StoredRow[] {
    if (index === undefined) return this.#all.all(collection, after, limit) as unknown as StoredRow[];
    const { id } = this.#registry.named(collection, index.name);
    return this.#ofKey.all(collection, id, index.key, after, limit) as unknown as StoredRow[];
  }

  /** Returns rows in the order of an index. Ids are not empty, so the position with an empty id is before all rows with the same index key. */
  range(collection: string, { index, from, below, after, isDescending, limit }: RowRange): StoredRow[] {
    const { id } = this.#registry.named(collection, index);
    const bound = { key: isDescending ? below : from, id: '' };
    const isBeyond = after !== undefined && (isDescending ? isBefore(after, bound) : isBefore(bound, after));
    const start = isBeyond ? after : bound;
    const [statement, end] = isDescending ? [this.#descending, from] : [this.#ascending, below];
    return statement.all(collection, id, start.key, start.id, end, limit) as unknown as StoredRow[];
  }

  /** Inserts a row. @throws IdpError `conflict` */
  insert(collection: string, id: string, row: string): void {
    if (this.get(collection, id) !== undefined) throw new IdpError('conflict');
    this.#put(collection, { id, version: 1, row }, undefined);
  }

  /** Inserts or replaces a row. @returns the version of the written row. @throws IdpError `conflict` */
  put(collection: string, id: string, row: string): number {
    const current = this.get(collection, id);
    const version = (current?.version ?? 0) + 1;
    this.#put(collection, { id, version, row }, current);
    return version;
  }

  /** Replaces a row. @returns false if the row has another version now. @throws IdpError `conflict` */
  replace(collection: string, id: string, row: string, version: number): boolean {
    const current = this.get(collection, id);
    if (current?.version !== version) return false;
    this.#put(collection, { id, version: version + 1, row }, current);
    return true;
  }

  remove(collection: string, id: string, version?: number): boolean {
    const current = this.get(collection, id);
    if (current === undefined || (version !== undefined && current.version !== version)) return false;
    this.#moveEntries(collection, current, undefined);
    this.#remove.run(collection, id);
    return true;
  }

  #put(collection: string, next: StoredRow, current: StoredRow | undefined): void {
    this.#write.run(collection, next.id, next.version, next.row);
    this.#moveEntries(collection, current, next);
  }

  /** Deletes entries of index keys that the next version of a row does not have, and adds entries of new index keys. */
  #moveEntries(collection: string, current: StoredRow | undefined, next: StoredRow | undefined): void {
    const after = next && rowOfText<Row>(next.id, next.version, next.row);
    for (const stored of this.#registry.of(collection)) {
      const before = current === undefined ? [] : keysOf(stored.index, current.id, current.row);
      const keys = after === undefined ? [] : stored.index.keysOf(after);
      // The entries of a row that another program has made unreadable are found by a search of the whole index.
      if (before === undefined) this.#removeEntries.run(stored.id, (current as StoredRow).id);
      for (const key of before ?? []) if (!keys.includes(key)) this.#registry.delete(stored, key, (current as StoredRow).id);
      for (const key of keys) if (!before?.includes(key)) this.#registry.add(stored, key, (next as StoredRow).id);
    }
  }
}

const isBefore = (one: { readonly key: string; readonly id: string }, other: { readonly key: string; readonly id: string }): boolean =>
  (compareTexts(one.key, other.key) || compareTexts(one.id, other.id)) < 0;
