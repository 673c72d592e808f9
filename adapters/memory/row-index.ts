import type { IndexSpec } from '../../lib/store/directory-store.js';
import { SortedIds } from './sorted-ids.js';

/** One declared index: the ids of the rows that have each combination of values. */
export class RowIndex {
  readonly unique: boolean;
  readonly #paths: readonly (readonly string[])[];
  readonly #ids = new Map<string, SortedIds>();

  constructor(spec: IndexSpec) {
    this.unique = spec.unique === true;
    this.#paths = spec.fields.map((field) => field.split('.'));
  }

  /** The entries a row has in this index: none if it lacks a field, one for each element of an array. */
  keysOf(row: object): readonly string[] {
    const values = this.#paths.map((path) => valuesAt(row, path));
    if (values.filter((list) => list.length > 1).length > 1) {
      throw new TypeError('A row has more than one array among the fields of an index.');
    }
    const combinations = values.reduce<readonly (readonly string[])[]>(
      (tuples, list) => tuples.flatMap((tuple) => list.map((value) => [...tuple, value])),
      [[]],
    );
    return combinations.map(keyOf);
  }

  /** @throws TypeError unless there is one text for each field. */
  lookUp(values: readonly unknown[]): SortedIds | undefined {
    if (values.length !== this.#paths.length || !values.every((value) => typeof value === 'string')) {
      throw new TypeError(`This index is looked up with ${this.#paths.length} strings.`);
    }
    return this.#ids.get(keyOf(values));
  }

  isTaken(key: string, id: string): boolean {
    const ids = this.#ids.get(key);
    return ids !== undefined && ids.size > (ids.has(id) ? 1 : 0);
  }

  add(key: string, id: string): void {
    let ids = this.#ids.get(key);
    if (ids === undefined) {
      ids = new SortedIds();
      this.#ids.set(key, ids);
    }
    ids.add(id);
  }

  delete(key: string, id: string): void {
    const ids = this.#ids.get(key);
    ids?.delete(id);
    if (ids?.size === 0) this.#ids.delete(key);
  }
}

/** JSON keeps combinations apart whatever characters the values have. */
const keyOf = (values: readonly string[]): string => JSON.stringify(values);

function valuesAt(row: object, path: readonly string[]): readonly string[] {
  let value: unknown = row;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return [];
    value = (value as Record<string, unknown>)[name];
  }
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return [...new Set(list)].filter((element) => typeof element === 'string');
}
