/**
 * Rows of the directory in PostgreSQL. Each row is one text, with entries in the declared indexes.
 *
 * `rows` reads and writes the rows of one collection, `range-reader` reads ranges, and `attempts` repeats writes. `entries` returns the entries of a row.
 * `registry` has the indexes that all nodes share. `statements` has the SQL, and `directory` has the collections.
 */
import { IdpError } from '../../../lib/errors.js';
import type { Collection, Page, Range, Row, Unsaved, Where } from '../../../lib/store/directory-store.js';
import { checkId, checkKeptId, checkPage, indexQueryOf, rangedIndex } from '../../../lib/store/row-contract.js';
import { orderedText } from '../../sql/ordered-text.js';
import { rowOfText, textOfRow } from '../../sql/row-text.js';
import type { Call, Connection } from '../connection.js';
import { Attempts } from './attempts.js';
import type { Entry } from './entries.js';
import { RangeReader } from './range-reader.js';
import { columnsOf, type IndexRegistry, type Known } from './registry.js';
import type { Current, Outcome, Statements, Stored } from './statements.js';

/** Maximum rows in one read, if all rows are requested. */
const CHUNK = 1000;
/** Maximum bytes of an id. In PostgreSQL, an entry has at most 2,704 bytes, of which up to 1,600 are the index key. */
const LONGEST_ID = 1000;

export interface RowsOptions {
  readonly name: string;
  readonly connection: Connection;
  readonly registry: IndexRegistry;
  readonly sql: Statements;
}

/** Rows of a collection. A write is one statement for the row and its entries, on condition that the version of the row is unchanged. */
export class Rows<R extends Row> implements Collection<R> {
  readonly #name: string;
  readonly #connection: Connection;
  readonly #registry: IndexRegistry;
  readonly #sql: Statements;
  readonly #attempts = new Attempts();
  #known: Known;

  constructor({ name, connection, registry, sql }: RowsOptions, known: Known) {
    this.#name = name;
    this.#connection = connection;
    this.#registry = registry;
    this.#sql = sql;
    this.#known = known;
  }

  /** Replaces the known indexes, after the collection was opened again. */
  reopened(known: Known): void {
    this.#known = known;
  }

  async get(id: string): Promise<R | undefined> {
    const column = columnOf(id);
    const [stored] = await this.#connection.read<Current>(this.#sql.get, [this.#name, column]);
    return stored && rowOf(stored);
  }

  async find(where: Where, page?: Page): Promise<readonly R[]> {
    checkPage(page);
    const read = this.#lookUp(where);
    if (page !== undefined) {
      const after = page.after === undefined ? '' : columnOf(page.after);
      return this.#connection.run(async (call) => (await read(call, after, page.limit)).map((stored) => rowOf<R>(stored)));
    }
    const rows: R[] = [];
    for (let after = ''; ; ) {
      const chunk = await this.#connection.run((call) => read(call, after, CHUNK));
      for (const stored of chunk) rows.push(rowOf(stored));
      const last = chunk.at(-1);
      if (last === undefined || chunk.length < CHUNK) return rows;
      after = last.id;
    }
  }

  async range(range: Range): Promise<readonly R[]> {
    const index = rangedIndex(range.index, this.#name, this.#known.indexes);
    const reader = new RangeReader({ sql: this.#sql, collection: this.#name, index, range });
    return (await this.#connection.run((call) => reader.read(call))).map((stored) => rowOf<R>(stored));
  }

  async insert(row: Unsaved<R>): Promise<R> {
    const inserted = await this.#connection.run((call) => this.#insert(call, row));
    if (inserted === undefined) throw new IdpError('conflict');
    return inserted;
  }

  async put(row: Unsaved<R>): Promise<R> {
    return this.#connection.run((call) =>
      this.#attempts.repeat(row.id, async () => {
        const current = await this.#read(call, row.id);
        return current === undefined ? this.#insert(call, row) : this.#replace(call, row, current);
      }),
    );
  }

  async update(id: string, change: (row: R) => Unsaved<R>): Promise<R | undefined> {
    const updated = await this.#connection.run((call) =>
      this.#attempts.repeat(id, async () => {
        const current = await this.#read(call, id);
        if (current === undefined) return null;
        const row = rowOf<R>(current);
        const next = change(row);
        if (next === row) return row;
        checkKeptId(id, next);
        return this.#replace(call, next, current);
      }),
    );
    return updated ?? undefined;
  }

  async remove(id: string, version?: number): Promise<boolean> {
    return this.#connection.run((call) =>
      this.#attempts.repeat(id, async () => {
        const current = await this.#read(call, id);
        if (current === undefined || (version !== undefined && Number(current.version) !== version)) return false;
        const isRemoved = await this.#write(call, async (known) => {
          const gone = await this.#entriesBefore(call, known, current);
          return [this.#sql.remove, [current.id, current.version, current.writer, ...keyColumnsOf(gone)]];
        });
        return isRemoved ? true : undefined;
      }),
    );
  }

  async #read(call: Call, id: string): Promise<Current | undefined> {
    const [stored] = await call.read<Current>(this.#sql.get, [this.#name, columnOf(id)]);
    return stored;
  }

  /** Inserts a row. @returns undefined if a row with the id exists. */
  async #insert(call: Call, row: Unsaved<R>): Promise<R | undefined> {
    const [stored, next] = this.#stored(row, 1);
    const isWritten = await this.#write(call, async (known) => [
      this.#sql.insert,
      [stored.id, stored.content, ...columnsOf(entriesIn(known, next))],
    ]);
    return isWritten ? next : undefined;
  }

  /** Replaces a row. @returns undefined if the row has changed since `current` was read. */
  async #replace(call: Call, row: Unsaved<R>, current: Current): Promise<R | undefined> {
    const [stored, next] = this.#stored(row, Number(current.version) + 1);
    const isWritten = await this.#write(call, async (known) => {
      const before = await this.#entriesBefore(call, known, current);
      const after = entriesIn(known, next);
      const kept = new Set(after.map(nameOf));
      const there = new Map(before.map((entry) => [nameOf(entry), entry.whole]));
      const incomplete = new Set([...known.indexes.values()].flatMap(({ id, isComplete }) => (isComplete ? [] : [id, -id])));
      const gone = before.filter((entry) => !kept.has(nameOf(entry)));
      const added = after.filter((entry) => incomplete.has(entry.index) || there.get(nameOf(entry)) !== entry.whole);
      const { id, version, writer } = current;
      return [this.#sql.replace, [id, version, writer, stored.content, ...keyColumnsOf(gone), ...columnsOf(added)]];
    });
    return isWritten ? next : undefined;
  }

  /**
   * Sends a statement that was built with the indexes that the node knows. If the node does not know all indexes, the node loads them and builds the
   * statement again.
   * @returns whether the row was written.
   */
  async #write(call: Call, statement: (known: Known) => Promise<readonly [text: string, values: readonly unknown[]]>): Promise<boolean> {
    for (;;) {
      const known = this.#known;
      const [text, values] = await statement(known);
      const [outcome] = await call.write<Outcome>(text, [this.#name, [String(known.top), String(known.indexes.size)], ...values]);
      if (outcome?.known === 'true') return outcome.written === 'true';
      this.#known = await this.#registry.load(call, this.#name);
    }
  }

  /** Returns the entries of a stored row. If the text of the row does not show the entries, the entries are read. */
  async #entriesBefore(call: Call, known: Known, { id, version, content }: Current): Promise<readonly Entry[]> {
    const row = rowOfText<R>(id, Number(version), content);
    const own = entriesOfOwn(known, row, content);
    if (own !== undefined) return own;
    const indexes = [...known.indexes.values()].flatMap((index) => [String(index.id), String(-index.id)]);
    const found = await call.read<{ readonly index: string; readonly key: string }>(this.#sql.keysOfRow, [indexes, id]);
    // U+0000 differs from each whole index key, so that every entry of the next row is written.
    return found.map(({ index, key }) => ({ index: Number(index), key, isUnique: false, whole: '\u0000' }));
  }

  /** Returns the texts of a row, and the row as a read will return it. */
  #stored(row: Unsaved<R>, version: number): [stored: Stored, next: R] {
    const content = textOfRow(row);
    const id = orderedText(row.id);
    if (Buffer.byteLength(id) > LONGEST_ID)
      throw new TypeError(`The id of a row has more than ${LONGEST_ID} bytes. Give the row a shorter id.`);
    return [{ id, version: String(version), content }, rowOfText<R>(id, version, content)];
  }

  #lookUp(where: Where): (call: Call, after: string, limit: number) => Promise<readonly Stored[]> {
    const query = indexQueryOf(where, this.#name, this.#known.indexes);
    if (query === undefined) return (call, after, limit) => call.read(this.#sql.page, [this.#name, after, String(limit)]);
    const { index, values } = query;
    const { key, whole } = index.lookUp(values);
    return (call, after, limit) => {
      const bounds = [this.#name, String(index.id), key, after, String(limit)];
      return whole === null ? call.read(this.#sql.lookUp, bounds) : call.read(this.#sql.lookUpWhole, [...bounds, whole]);
    };
  }
}

/** Returns the escaped id, as the column stores it. @throws TypeError for an id that is not a string, such as an object. */
function columnOf(id: string): string {
  checkId(id);
  return orderedText(id);
}

const rowOf = <R extends Row>({ id, version, content }: Stored): R => rowOfText<R>(id, Number(version), content);
const entriesIn = ({ indexes }: Known, row: Row): readonly Entry[] => [...indexes.values()].flatMap((index) => index.entriesOf(row));
const nameOf = ({ index, key }: Entry): string => `${index} ${key}`;
const keyColumnsOf = (entries: readonly Entry[]): readonly unknown[] => columnsOf(entries).slice(0, 2);

/** Returns the entries of a row that an adapter wrote. Returns undefined for a row that another program wrote, or that a later index refuses. */
function entriesOfOwn(known: Known, row: Row, content: string): readonly Entry[] | undefined {
  try {
    return textOfRow(row) === content ? entriesIn(known, row) : undefined;
  } catch {
    return undefined;
  }
}
