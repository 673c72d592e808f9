import { setImmediate as nextTurn } from 'node:timers/promises';
import { IdpError } from '../../../lib/errors.js';
import type { CollectionSpec, IndexSpec, Row } from '../../../lib/store/directory-store.js';
import { RowIndex } from '../../sql/row-index.js';
import { rowOfText } from '../../sql/row-text.js';
import type { Database } from './database.js';
import type { Statement } from './node-sqlite.js';

const schema = `
create table if not exists idp_rows (
  collection text not null,
  id text not null,
  version integer not null check (version between 1 and ${Number.MAX_SAFE_INTEGER}),
  row text not null,
  primary key (collection, id)
) strict;
create table if not exists idp_indexes (
  id integer primary key autoincrement,
  collection text not null,
  name text not null,
  spec text not null,
  is_complete integer not null,
  unique (collection, name)
) strict;
create table if not exists idp_entries (
  index_id integer not null,
  key text not null,
  id text not null,
  primary key (index_id, key, id)
) strict, without rowid`;

/**
 * Rows that one transaction reads while an index is filled, so that other calls are not delayed for long. A transaction deletes up to ten times as many old
 * entries.
 */
const PAGE = 500;

/** Index that the file has. Entries of some rows may still be missing. */
export interface StoredIndex {
  readonly id: number;
  readonly name: string;
  readonly spec: string;
  readonly collection: string;
  readonly index: RowIndex;
  isComplete: boolean;
}

const specText = ({ fields, unique = false, order }: IndexSpec): string => JSON.stringify({ fields, unique, ...(order && { order }) });

/**
 * Registry of the declared indexes of all collections, with their entries. An index stays until an operator removes the index, and every write updates the
 * entries of the index. A new index is filled page by page. Writes in between add the entries of their own rows.
 */
export class Registry {
  readonly #database: Database;
  readonly #collections = new Map<string, StoredIndex[]>();
  readonly #add: Statement;
  readonly #owners: Statement;
  readonly #delete: Statement;
  readonly #row: Statement;
  readonly #page: Statement;
  /** Last opening. Openings run one after the other, because two openings would fill the same index. */
  #opening: Promise<void> = Promise.resolve();

  constructor(database: Database) {
    this.#database = database;
    database.exec(schema);
    this.#add = database.prepare('insert or ignore into idp_entries values (?, ?, ?)');
    this.#owners = database.prepare('select id from idp_entries where index_id = ? and key = ? and id <> ?');
    this.#delete = database.prepare('delete from idp_entries where index_id = ? and key = ? and id = ?');
    this.#row = database.prepare('select version, row from idp_rows where collection = ? and id = ?');
    this.#page = database.prepare('select id, version, row from idp_rows where collection = ? and id > ? order by id limit ?');
    for (const found of database.prepare('select * from idp_indexes order by id').all()) {
      const [spec, collection] = [found.spec as string, found.collection as string];
      const index = new RowIndex(JSON.parse(spec) as IndexSpec);
      this.#keep({ id: Number(found.id), name: found.name as string, spec, collection, index, isComplete: found.is_complete === 1 });
    }
  }

  of(collection: string): readonly StoredIndex[] {
    return this.#collections.get(collection) ?? [];
  }

  /** Returns an index by its name. @throws TypeError for an index that was not opened. */
  named(collection: string, name: string): StoredIndex {
    const stored = this.of(collection).find((index) => index.name === name);
    if (stored === undefined) throw new TypeError(`'${collection}' has no index '${name}'. Name an index that was opened.`);
    return stored;
  }

  /**
   * Registers missing indexes, and fills incomplete indexes.
   * @throws IdpError `store_unfit` if an index has another form, `conflict` if rows have the same unique value.
   */
  open(specs: readonly CollectionSpec[]): Promise<void> {
    const opened = this.#opening.then(async () => {
      for (const stored of this.#database.inTransaction(() => this.#register(specs))) this.#keep(stored);
      for (const { name } of specs) {
        for (const stored of this.of(name)) if (!stored.isComplete) await this.#fill(stored);
      }
    });
    this.#opening = opened.catch(() => {});
    return opened;
  }

  /** Adds an entry. @throws IdpError `conflict` if another row has this index key in a unique index. */
  add(stored: StoredIndex, key: string, id: string): void {
    if (stored.index.isUnique) {
      for (const { id: owner } of this.#owners.all(stored.id, key, id)) {
        if (this.#hasKey(stored, key, owner as string)) throw new IdpError('conflict');
        // Another program has changed or removed the row of this entry.
        this.delete(stored, key, owner as string);
      }
    }
    this.#add.run(stored.id, key, id);
  }

  delete({ id: index }: StoredIndex, key: string, id: string): void {
    this.#delete.run(index, key, id);
  }

  #hasKey({ collection, index }: StoredIndex, key: string, id: string): boolean {
    const found = this.#row.get(collection, id);
    return found !== undefined && (keysOf(index, id, found.row as string)?.includes(key) ?? true);
  }

  #keep(stored: StoredIndex): void {
    const indexes = this.#collections.get(stored.collection);
    if (indexes === undefined) this.#collections.set(stored.collection, [stored]);
    else indexes.push(stored);
  }

  /** Registers missing indexes, and returns them. An index of a collection without rows is complete. */
  #register(specs: readonly CollectionSpec[]): readonly StoredIndex[] {
    const added: StoredIndex[] = [];
    const insert = this.#database.prepare('insert into idp_indexes (collection, name, spec, is_complete) values (?, ?, ?, ?) returning id');
    for (const { name: collection, indexes } of specs) {
      const isComplete = this.#page.get(collection, '', 1) === undefined;
      for (const [name, declared] of Object.entries(indexes)) {
        const spec = specText(declared);
        const known = [...this.of(collection), ...added].find((index) => index.collection === collection && index.name === name);
        if (known !== undefined) checkForm(known, spec);
        else {
          const id = Number(insert.get(collection, name, spec, isComplete ? 1 : 0)?.id);
          added.push({ id, name, spec, collection, index: new RowIndex(declared), isComplete });
        }
      }
    }
    return added;
  }

  async #fill(stored: StoredIndex): Promise<void> {
    const entries = this.#database.prepare(
      `delete from idp_entries where index_id = ? and (key, id) in (select key, id from idp_entries where index_id = ? limit ${PAGE * 10})`,
    );
    while (Number(this.#database.inTransaction(() => entries.run(stored.id, stored.id)).changes) > 0) await nextTurn();
    try {
      for (let after: string | undefined = ''; after !== undefined; await nextTurn()) {
        const from: string = after;
        after = this.#database.inTransaction(() => this.#fillPage(stored, from));
      }
    } catch (error) {
      if (!IdpError.is(error, 'conflict')) throw error;
      this.#forget(stored);
      throw new IdpError('conflict', { collection: stored.collection });
    }
    stored.isComplete = true;
  }

  /** Adds the entries of one page of rows. @returns the id behind which the next page begins; undefined after the last page. */
  #fillPage(stored: StoredIndex, after: string): string | undefined {
    const rows = this.#page.all(stored.collection, after, PAGE);
    for (const { id, row } of rows) {
      for (const key of keysOf(stored.index, id as string, row as string) ?? []) this.add(stored, key, id as string);
    }
    if (rows.length === PAGE) return rows.at(-1)?.id as string;
    this.#database.prepare('update idp_indexes set is_complete = 1 where id = ?').run(stored.id);
    return undefined;
  }

  /** Removes a unique index that existing rows violate. Otherwise the previous version of the service could not write its rows. */
  #forget(stored: StoredIndex): void {
    this.#database.inTransaction(() => {
      this.#database.prepare('delete from idp_entries where index_id = ?').run(stored.id);
      this.#database.prepare('delete from idp_indexes where id = ?').run(stored.id);
    });
    this.#collections.set(
      stored.collection,
      this.of(stored.collection).filter((index) => index !== stored),
    );
  }
}

/** Returns the index keys of a stored row; undefined for a row of another program that is unreadable, or that the index refuses. */
export function keysOf(index: RowIndex, id: string, text: string): readonly string[] | undefined {
  const row = rowOfText<Row>(id, 1, text);
  if ('unreadable' in row) return undefined;
  try {
    return index.keysOf(row);
  } catch {
    return undefined;
  }
}

function checkForm({ collection, name, spec }: StoredIndex, expected: string): void {
  if (spec === expected) return;
  throw new IdpError('store_unfit', {
    store: 'sqlite',
    setting: `index ${name} of ${collection}`,
    found: spec,
    expected,
    change: 'start the version of the service that made the file',
  });
}
