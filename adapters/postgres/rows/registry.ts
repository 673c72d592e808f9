import { IdpError } from '../../../lib/errors.js';
import type { CollectionSpec, IndexSpec, Order, Row } from '../../../lib/store/directory-store.js';
import { rowOfText } from '../../sql/row-text.js';
import type { Call, Connection } from '../connection.js';
import { OPEN_DEADLINE_MS } from '../tables.js';
import { type Entry, RegisteredIndex } from './entries.js';
import type { Statements, Stored } from './statements.js';

/** Maximum rows whose entries one statement adds. */
const FILL_PAGE = 500;

/** Indexes of a collection that this node knows. */
export interface Known {
  /**
   * Highest number of an index. A write compares this number and the count of the indexes with the registered indexes, to check that the node knows all
   * indexes.
   */
  readonly top: number;
  readonly indexes: ReadonlyMap<string, RegisteredIndex>;
}

interface Registration {
  readonly id: string;
  readonly collection: string;
  readonly name: string;
  readonly spec: string;
  readonly complete: 'true' | 'false';
}

/**
 * Registry of the indexes of all collections, which all nodes share. A node writes the entries of every registered index, also of indexes that only a newer
 * version of the service declares. An index is registered before older rows get their entries. The entries of older rows are added page by page, while all
 * nodes continue to write.
 */
export class IndexRegistry {
  readonly #connection: Connection;
  readonly #sql: Statements;

  constructor(connection: Connection, sql: Statements) {
    this.#connection = connection;
    this.#sql = sql;
  }

  /** Returns the indexes of a collection. */
  async load(call: Call, collection: string): Promise<Known> {
    return knownOf(await call.read<Registration>(this.#sql.registry, [[collection]]));
  }

  /**
   * Registers missing indexes, and waits until all declared indexes have the entries of all rows.
   * @throws IdpError `store_unfit` if another index has the name of a declared index; `conflict` if two rows have the same unique value.
   */
  async open(specs: readonly CollectionSpec[]): Promise<ReadonlyMap<string, Known>> {
    const collections = [...new Set(specs.map(({ name }) => name))];
    const declared = specs.flatMap(({ name: collection, indexes }) =>
      Object.entries(indexes).map(([name, spec]) => ({ collection, name, spec: textOf(spec) })),
    );
    for (;;) {
      const found = await this.#run((call) => call.read<Registration>(this.#sql.registry, [collections]));
      const own = declared.map((index) => ({
        index,
        found: found.find(({ collection, name }) => collection === index.collection && name === index.name),
      }));
      const changed = own.find((pair) => pair.found !== undefined && pair.found.spec !== pair.index.spec)?.index;
      if (changed !== undefined) {
        const { collection, name } = changed;
        throw new IdpError('store_unfit', { store: 'postgres', collection, index: name, reason: 'another index has this name' });
      }
      const missing = own.flatMap((pair) => (pair.found === undefined ? [pair.index] : []));
      const incomplete = new Set(own.flatMap((pair) => (pair.found?.complete === 'false' ? [pair.index.collection] : [])));
      if (missing.length === 0 && incomplete.size === 0) {
        return new Map(collections.map((name) => [name, knownOf(found.filter(({ collection }) => collection === name))]));
      }
      if (missing.length > 0) await this.#run((call) => call.read(this.#sql.register(missing)));
      for (const collection of incomplete) await this.#fill(collection, declared);
      if (incomplete.size > 0) await this.#run((call) => call.write(this.#sql.complete, [[...incomplete]]));
    }
  }

  /** Adds the entries of the rows of a collection to the incomplete indexes. Rows whose entries another node has added are skipped. */
  async #fill(collection: string, declared: readonly { readonly collection: string; readonly name: string }[]): Promise<void> {
    const known = await this.#run((call) => this.load(call, collection));
    const incomplete = [...known.indexes.values()].filter(({ isComplete }) => !isComplete);
    try {
      for (let after = ''; ; ) {
        const values = [collection, after, String(known.top), String(FILL_PAGE)];
        const page = await this.#run((call) => call.read<Stored>(this.#sql.unfilled, values));
        const last = page.at(-1);
        if (last === undefined) return;
        const entries = page.flatMap((stored) => entriesOf(incomplete, stored).map((entry) => [stored.id, entry] as const));
        const ids = page.map(({ id }) => id);
        const versions = page.map(({ version }) => version);
        const columns = [entries.map(([id]) => id), ...columnsOf(entries.map(([, entry]) => entry))];
        await this.#run((call) => call.write(this.#sql.fill, [collection, String(known.top), ids, versions, ...columns]));
        after = last.id;
      }
    } catch (error) {
      if (!IdpError.is(error, 'conflict')) throw error;
      await this.#withdraw(collection, incomplete);
      const isOwn = incomplete.some(({ name }) => declared.some((index) => index.collection === collection && index.name === name));
      if (isOwn) throw new IdpError('conflict', { collection }, { cause: error.cause });
    }
  }

  /** Removes incomplete unique indexes, so that nodes of the previous version may write rows that these indexes would refuse. */
  async #withdraw(collection: string, incomplete: readonly RegisteredIndex[]): Promise<void> {
    const ids = incomplete.filter(({ isUnique }) => isUnique).map(({ id }) => id);
    await this.#run((call) => call.write(this.#sql.withdraw, [collection, ids.map(String)]));
  }

  /** Runs one step of opening, with the deadline of opening. */
  #run<T>(work: (call: Call) => Promise<T>): Promise<T> {
    return this.#connection.run(work, OPEN_DEADLINE_MS);
  }
}

/** Returns the columns of entries, as parameters of a statement. */
export const columnsOf = (entries: readonly Entry[]): readonly unknown[] => [
  entries.map(({ index }) => String(index)),
  entries.map(({ key }) => key),
  entries.map(({ isUnique }) => String(isUnique)),
  entries.map(({ whole }) => whole),
];

/**
 * Returns the entries of a row, except in indexes that refuse the row. A refused row was written by another program, or by a node that did not know the
 * index.
 */
function entriesOf(indexes: readonly RegisteredIndex[], { id, version, content }: Stored): readonly Entry[] {
  const row = rowOfText<Row>(id, Number(version), content);
  return indexes.flatMap((index) => {
    try {
      return index.entriesOf(row);
    } catch (error) {
      if (error instanceof TypeError) return [];
      throw error;
    }
  });
}

const knownOf = (registrations: readonly Registration[]): Known => ({
  top: Math.max(0, ...registrations.map(({ id }) => Number(id))),
  indexes: new Map(
    registrations.map(({ id, name, spec, complete }) => [name, new RegisteredIndex(Number(id), name, specOf(spec), complete === 'true')]),
  ),
});

const textOf = ({ fields, unique = false, order }: IndexSpec): string => JSON.stringify([unique, order ?? 'none', ...fields]);

function specOf(text: string): IndexSpec {
  const [unique, order, ...fields] = JSON.parse(text) as [boolean, Order | 'none', ...string[]];
  return { fields, unique, ...(order !== 'none' && { order }) };
}
