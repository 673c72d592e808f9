/**
 * Rows of the directory in MongoDB, one document each.
 *
 * Reads and writes of the rows of one collection. `row-document` converts a row to a document, and `row-index` maps a declared index to an index of the
 * server. `directory` has the collections and the connection.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Filter, Collection as MongoCollection } from 'mongodb';
import { IdpError } from '../../../lib/errors.js';
import { present } from '../../../lib/present.js';
import type { Collection, CollectionSpec, Page, Range, Row, Unsaved, Where } from '../../../lib/store/directory-store.js';
import { positionBehind } from '../../../lib/store/index-order.js';
import { checkId, checkKeptId, checkPage, indexQueryOf, rangedIndex } from '../../../lib/store/row-contract.js';
import { isDuplicate } from '../database.js';
import { inTime } from '../deadline.js';
import { ensureIndexes } from '../indexes.js';
import { documentOf, type RowDocument, rowOf } from './row-document.js';
import { RowIndex } from './row-index.js';

/** Maximum documents in one read, if all documents are requested. */
const CHUNK = 1000;

/** Rows of a collection, one document each. Every write changes one document, on condition that the version of the document is unchanged. */
export class Rows<R extends Row> implements Collection<R> {
  readonly #name: string;
  readonly #rows: MongoCollection<RowDocument>;
  readonly #indexes = new Map<string, RowIndex>();

  constructor(name: string, rows: MongoCollection<RowDocument>) {
    this.#name = name;
    this.#rows = rows;
  }

  /** @throws IdpError `store_unfit`, `conflict`. */
  async ensureIndexes(specs: CollectionSpec['indexes']): Promise<void> {
    const indexes = Object.entries(specs).map(([name, spec]) => [name, new RowIndex(name, spec)] as const);
    await ensureIndexes(
      this.#rows,
      indexes.map(([, { description }]) => description),
    );
    for (const [name, index] of indexes) this.#indexes.set(name, index);
  }

  async get(id: string): Promise<R | undefined> {
    const document = await inTime((bounds) => this.#rows.findOne({ _id: text(id) }, bounds));
    return document === null ? undefined : rowOf(document);
  }

  async find(where: Where, page?: Page): Promise<readonly R[]> {
    checkPage(page);
    const query = indexQueryOf(where, this.#name, this.#indexes);
    const filter = query === undefined ? {} : query.index.lookUp(query.values);
    // A unique index finds at most one row, but a planner that follows the order of ids may read all rows.
    const hint = query?.index.isUnique ? { hint: query.name } : {};
    if (page !== undefined) return this.#page(filter, hint, page.limit, page.after);
    const rows: R[] = [];
    for (let after: string | undefined; ; ) {
      const chunk = await this.#page(filter, hint, CHUNK, after);
      rows.push(...chunk);
      after = positionBehind(chunk, after);
      if (chunk.length < CHUNK || after === undefined) return rows;
    }
  }

  async range(range: Range): Promise<readonly R[]> {
    const index = rangedIndex(range.index, this.#name, this.#indexes);
    const rows: R[] = [];
    for (const { filter, sort } of index.stretches(range)) {
      const limit = range.limit - rows.length;
      if (limit === 0) break;
      // A planner that sorts its results reads all rows of the range.
      const options = { sort: new Map(sort), hint: range.index, limit, batchSize: limit };
      const documents = await inTime((bounds) => this.#rows.find(filter, { ...bounds, ...options }).toArray());
      rows.push(...documents.map((document) => rowOf<R>(document)));
    }
    return rows;
  }

  async insert(row: Unsaved<R>): Promise<R> {
    const document = this.#documentOf(row, 1);
    await unlessTaken(inTime((bounds) => this.#rows.insertOne(document, { ...bounds })));
    return rowOf(document);
  }

  async put(row: Unsaved<R>): Promise<R> {
    for (;;) {
      const current = await inTime((bounds) => this.#rows.findOne({ _id: text(row.id) }, { ...bounds, projection: { version: 1 } }));
      if (current !== null) {
        const replaced = await this.#replace(row, current.version);
        if (replaced !== undefined) return replaced;
      } else {
        try {
          return await this.insert(row);
        } catch (error) {
          // A concurrent put may have created the row.
          if (!(error instanceof IdpError) || (await this.get(row.id)) === undefined) throw error;
        }
      }
      await pause();
    }
  }

  async update(id: string, change: (row: R) => Unsaved<R>): Promise<R | undefined> {
    for (;;) {
      const current = await this.get(id);
      if (current === undefined) return undefined;
      const next = change(current);
      if (next === current) return current;
      checkKeptId(id, next);
      const replaced = await this.#replace(next, current.version);
      if (replaced !== undefined) return replaced;
      await pause();
    }
  }

  async remove(id: string, version?: number): Promise<boolean> {
    const filter = { _id: text(id), ...present({ version }) };
    const { deletedCount } = await inTime((bounds) => this.#rows.deleteOne(filter, { ...bounds }));
    return deletedCount === 1;
  }

  /** @returns undefined if the row has another version now. */
  async #replace(row: Unsaved<R>, version: number): Promise<R | undefined> {
    const document = this.#documentOf(row, version + 1);
    const { _id, ...members } = document;
    const { matchedCount } = await unlessTaken(inTime((bounds) => this.#rows.replaceOne({ _id, version }, members, { ...bounds })));
    return matchedCount === 1 ? rowOf(document) : undefined;
  }

  #documentOf(row: Unsaved<R>, version: number): RowDocument {
    const document = documentOf(row, version);
    for (const index of this.#indexes.values()) index.check(document);
    return document;
  }

  async #page(filter: Filter<RowDocument>, hint: { readonly hint?: string }, limit: number, after: string | undefined): Promise<R[]> {
    const from = after === undefined ? filter : { ...filter, _id: { $gt: text(after) } };
    const documents = await inTime((bounds) =>
      this.#rows.find(from, { ...bounds, ...hint, sort: { _id: 1 }, limit, batchSize: limit }).toArray(),
    );
    return documents.map((document) => rowOf<R>(document));
  }
}

/** Returns the id, which must be a text. An object in place of an id would be a query. */
function text(id: string): string {
  checkId(id);
  return id;
}

/** @throws IdpError `conflict` */
async function unlessTaken<T>(writing: Promise<T>): Promise<T> {
  try {
    return await writing;
  } catch (error) {
    throw isDuplicate(error) ? new IdpError('conflict', {}, { cause: error }) : error;
  }
}

/** Waits a random time, so that two writers of one row do not collide repeatedly. */
const pause = (): Promise<void> => sleep(Math.random() * 10);
