import { IdpError } from '../../lib/errors.js';
import type { Collection, CollectionSpec, IndexSpec, Page, Range, Row, Unsaved, Where } from '../../lib/store/directory-store.js';
import { checkKeptId, checkNewId, checkPage, indexQueryOf, noOrder, rangedIndex } from '../../lib/store/row-contract.js';
import { frozenCopy } from './frozen-copy.js';
import { OrderedIndex } from './ordered-index.js';
import { LookUpIndex, type RowIndex } from './row-index.js';
import { SortedIds } from './sorted-ids.js';

/**
 * Rows of a collection, with their indexes. Each write does its work in one synchronous step, and checks everything before it changes anything. Rows are
 * frozen copies that the write created, so a read returns the row itself.
 */
export class Rows<R extends Row> implements Collection<R> {
  readonly #name: string;
  readonly #rows = new Map<string, R>();
  readonly #ids = new SortedIds();
  readonly #indexes = new Map<string, RowIndex<unknown>>();

  constructor(name: string) {
    this.#name = name;
  }

  /** Creates missing indexes over the existing rows. */
  ensureIndexes(specs: CollectionSpec['indexes']): void {
    for (const [name, spec] of Object.entries(specs)) {
      if (this.#indexes.has(name)) continue;
      const index = indexOf(spec);
      for (const row of this.#rows.values()) {
        for (const entry of index.entriesOf(row)) {
          if (index.unique && index.isTaken(entry, row.id)) throw new IdpError('conflict');
          index.add(entry, row.id);
        }
      }
      this.#indexes.set(name, index);
    }
  }

  async get(id: string): Promise<R | undefined> {
    return this.#rows.get(id);
  }

  async find(where: Where, page?: Page): Promise<readonly R[]> {
    checkPage(page);
    return this.#lookUp(where)
      .page(page)
      .map((id) => this.#rows.get(id)!);
  }

  async range(range: Range): Promise<readonly R[]> {
    const index = rangedIndex(range.index, this.#name, this.#indexes);
    if (!(index instanceof OrderedIndex)) throw noOrder(range.index);
    return index.range(range).map((id) => this.#rows.get(id)!);
  }

  async insert(row: Unsaved<R>): Promise<R> {
    if (this.#rows.has(row.id)) throw new IdpError('conflict');
    return this.#write(row, undefined);
  }

  async put(row: Unsaved<R>): Promise<R> {
    return this.#write(row, this.#rows.get(row.id));
  }

  async update(id: string, change: (row: R) => Unsaved<R>): Promise<R | undefined> {
    const current = this.#rows.get(id);
    if (current === undefined) return undefined;
    const next = change(current);
    if (next === current) return current;
    checkKeptId(id, next);
    return this.#write(next, current);
  }

  async remove(id: string, version?: number): Promise<boolean> {
    const current = this.#rows.get(id);
    if (current === undefined || (version !== undefined && current.version !== version)) return false;
    for (const index of this.#indexes.values()) {
      for (const entry of index.entriesOf(current)) index.delete(entry, id);
    }
    this.#ids.delete(id);
    return this.#rows.delete(id);
  }

  #write(unsaved: Unsaved<R>, current: R | undefined): R {
    const { id } = unsaved;
    checkNewId(id);
    const row = frozenCopy({ ...unsaved, version: (current?.version ?? 0) + 1 }) as unknown as R;
    const moved = [...this.#indexes.values()].filter((index) => current === undefined || !index.isUnmoved(current, row));
    const indexed = moved.map((index) => ({ index, entries: index.entriesOf(row) }));
    for (const { index, entries } of indexed) {
      if (index.unique && entries.some((entry) => index.isTaken(entry, id))) throw new IdpError('conflict');
    }
    for (const { index, entries } of indexed) {
      if (current !== undefined) for (const entry of index.entriesOf(current)) index.delete(entry, id);
      for (const entry of entries) index.add(entry, id);
    }
    this.#rows.set(id, row);
    if (current === undefined) this.#ids.add(id);
    return row;
  }

  #lookUp(where: Where): SortedIds {
    const query = indexQueryOf(where, this.#name, this.#indexes);
    return query === undefined ? this.#ids : query.index.lookUp(query.values);
  }
}

const indexOf = (spec: IndexSpec): RowIndex<unknown> =>
  (spec.order === undefined ? new LookUpIndex(spec) : new OrderedIndex(spec, spec.order)) as RowIndex<unknown>;
