import { isDate } from 'node:util/types';
import type { IndexSpec } from '../../lib/store/directory-store.js';
import { checkIndexable, lookUpTexts, valueAt } from '../../lib/store/row-contract.js';
import { SortedIds } from './sorted-ids.js';

/**
 * A declared index. An entry is a row's position in the index. A row that lacks a field has no entry. A row with an array has one entry for each element.
 */
export interface RowIndex<Entry> {
  readonly unique: boolean;
  /** Returns the entries of a row. @throws TypeError for a row that the index cannot hold. */
  entriesOf(row: object): readonly Entry[];
  /** Returns whether two versions of a row have the same entries. False if the entries may differ. */
  isUnmoved(before: object, after: object): boolean;
  isTaken(entry: Entry, id: string): boolean;
  add(entry: Entry, id: string): void;
  delete(entry: Entry, id: string): void;
  /** Returns the ids of the rows with these values, in order. @throws TypeError unless there is one text for each field. */
  lookUp(values: readonly unknown[]): SortedIds;
}

/** An index without an order: the ids of the rows that have each combination of values. */
export class LookUpIndex implements RowIndex<string> {
  readonly unique: boolean;
  readonly #paths: readonly Path[];
  readonly #ids = new Map<string, SortedIds>();

  constructor(spec: IndexSpec) {
    this.unique = spec.unique === true;
    this.#paths = spec.fields.map(pathOf);
  }

  entriesOf(row: object): readonly string[] {
    return combinationsAt(row, this.#paths);
  }

  isUnmoved(before: object, after: object): boolean {
    return haveSameAt(this.#paths, before, after);
  }

  lookUp(values: readonly unknown[]): SortedIds {
    return this.#ids.get(keyOf(lookUpTexts(values, this.#paths.length))) ?? new SortedIds();
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

export type Path = readonly string[];
export const pathOf = (field: string): Path => field.split('.');

/** Returns the key of a combination of values. JSON distinguishes combinations, even if the values have special characters. */
export const keyOf = (values: readonly string[]): string => JSON.stringify(values);

/** Returns the key of each combination of the texts at some paths. @throws TypeError if several of the paths hold an array. */
export function combinationsAt(row: object, paths: readonly Path[]): readonly string[] {
  const values = paths.map((path) => valueAt(row, path));
  checkIndexable(values, false);
  const combinations = values
    .map(textsOf)
    .reduce<readonly (readonly string[])[]>((tuples, list) => tuples.flatMap((tuple) => list.map((value) => [...tuple, value])), [[]]);
  return combinations.map(keyOf);
}

/**
 * Returns whether two versions of a row have the same value at each path. Lists are compared by identity, because versions of a row share unchanged lists.
 */
export const haveSameAt = (paths: readonly Path[], before: object, after: object): boolean =>
  paths.every((path) => isSame(valueAt(before, path), valueAt(after, path)));

const isSame = (one: unknown, other: unknown): boolean =>
  one === other || (isDate(one) && isDate(other) && one.getTime() === other.getTime());

function textsOf(value: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return [...new Set(list)].filter((element) => typeof element === 'string');
}
