import { setTimeout as sleep } from 'node:timers/promises';
import type { Collection, CollectionSpec, Page, Range, Row, Unsaved, Where } from '../../lib/store/directory-store.js';
import { checkId, checkKeptId, checkPage, indexQueryOf, rangedIndex } from '../../lib/store/row-contract.js';
import { orderedText } from '../sql/ordered-text.js';
import { RowIndex } from '../sql/row-index.js';
import { rowOfText, textOfRow } from '../sql/row-text.js';
import type { RowPage, StoredRow } from './calls.js';
import type { FileUse } from './shared-file.js';

/** Maximum rows in one read of the file, so that no read delays other calls for long. */
const CHUNK = 500;

/** Rows of a collection. The worker writes a row and the index entries of the row in one transaction. */
export class Rows<R extends Row> implements Collection<R> {
  readonly #name: string;
  readonly #file: FileUse;
  readonly #indexes = new Map<string, RowIndex>();

  constructor(name: string, file: FileUse) {
    this.#name = name;
    this.#file = file;
  }

  /** Adds indexes that the worker has opened. */
  declare(specs: CollectionSpec['indexes']): void {
    for (const [name, spec] of Object.entries(specs)) this.#indexes.set(name, new RowIndex(spec));
  }

  async get(id: string): Promise<R | undefined> {
    const stored = await this.#file.call('getRow', this.#name, columnOf(id));
    return stored === undefined ? undefined : rowOf<R>(stored);
  }

  async find(where: Where, page?: Page): Promise<readonly R[]> {
    checkPage(page);
    const index = this.#lookUp(where);
    const rows: R[] = [];
    for (let after = page?.after === undefined ? '' : columnOf(page.after); ; ) {
      const limit = Math.min(CHUNK, (page?.limit ?? Number.POSITIVE_INFINITY) - rows.length);
      const stored = await this.#file.call('findRows', this.#name, { ...index, after, limit });
      rows.push(...stored.map((each) => rowOf<R>(each)));
      if (stored.length < limit || rows.length === page?.limit) return rows;
      after = stored.at(-1)?.id as string;
    }
  }

  async range(range: Range): Promise<readonly R[]> {
    const index = rangedIndex(range.index, this.#name, this.#indexes);
    const { descending: isDescending = false, limit } = range;
    const stored = await this.#file.call('rangeOfRows', this.#name, { ...index.rangeOf(range), index: range.index, isDescending, limit });
    return stored.map((each) => rowOf<R>(each));
  }

  async insert(row: Unsaved<R>): Promise<R> {
    const text = textOfRow(row);
    const id = columnOf(row.id);
    await this.#file.call('insertRow', this.#name, id, text);
    return rowOfText(id, 1, text);
  }

  async put(row: Unsaved<R>): Promise<R> {
    const text = textOfRow(row);
    const id = columnOf(row.id);
    return rowOfText(id, await this.#file.call('putRow', this.#name, id, text), text);
  }

  async update(id: string, change: (row: R) => Unsaved<R>): Promise<R | undefined> {
    for (;;) {
      const current = await this.get(id);
      if (current === undefined) return undefined;
      const next = change(current);
      if (next === current) return current;
      checkKeptId(id, next);
      const text = textOfRow(next);
      const column = columnOf(id);
      if (await this.#file.call('replaceRow', this.#name, column, text, current.version))
        return rowOfText(column, current.version + 1, text);
      await pause();
    }
  }

  async remove(id: string, version?: number): Promise<boolean> {
    return this.#file.call('removeRow', this.#name, columnOf(id), version);
  }

  #lookUp(where: Where): Pick<RowPage, 'index'> {
    const query = indexQueryOf(where, this.#name, this.#indexes);
    if (query === undefined) return {};
    const { name, index, values } = query;
    return { index: { name, key: index.lookUp(values) } };
  }
}

/** Returns the escaped id, as the column stores it. @throws TypeError for an id that is not a string. */
function columnOf(id: string): string {
  checkId(id);
  return orderedText(id);
}

const rowOf = <R extends Row>({ id, version, row }: StoredRow): R => rowOfText(id, version, row);

/** Waits a random time, so that two writers of the same row do not collide repeatedly. */
const pause = (): Promise<void> => sleep(Math.random() * 5);
