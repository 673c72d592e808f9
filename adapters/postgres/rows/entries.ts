import { hash } from 'node:crypto';
import type { IndexSpec, Range } from '../../../lib/store/directory-store.js';
import { type KeyRange, RowIndex } from '../../sql/row-index.js';

/** A row's entry in an index, as a row of the table of entries. */
export interface Entry {
  readonly index: number;
  readonly key: string;
  readonly isUnique: boolean;
  /** The whole key, where `key` is only its beginning. */
  readonly whole: string | null;
}

/** Characters of the longest key that is stored whole. PostgreSQL has at most 2,704 bytes for an entry, of which 1,000 are the id of the row. */
const LONGEST_KEY = 400;
/** Begins the digest of a key. No key begins so, because the escaped text of a key has no U+0005 behind its first U+0002. */
const DIGEST = '\u0002\u0005';

/** Returns the first characters of a key. Beginnings are in the order of their keys, because each has the same number of characters. */
export const beginningOf = (key: string): string => (key.length <= LONGEST_KEY ? key : [...key].slice(0, LONGEST_KEY).join(''));

/** Returns whether several keys may share this beginning. */
export const mayBeShared = (beginning: string): boolean => beginning.length >= LONGEST_KEY && [...beginning].length >= LONGEST_KEY;

const isLong = (key: string): boolean => beginningOf(key) !== key;
const digestOf = (key: string): string => DIGEST + hash('sha256', key, 'base64url');

/**
 * A registered index. A key that is too long for an entry is stored as its digest. In an index with an order, such a key is stored as its beginning, beside the
 * whole key. A unique key of this kind has a second entry, in the index with the negative number, for its digest.
 */
export class RegisteredIndex {
  readonly id: number;
  readonly name: string;
  readonly isUnique: boolean;
  /** Whether the index has the entries of all rows. */
  readonly isComplete: boolean;
  readonly #index: RowIndex;
  readonly #isOrdered: boolean;

  constructor(id: number, name: string, spec: IndexSpec, isComplete: boolean) {
    this.id = id;
    this.name = name;
    this.isComplete = isComplete;
    this.#index = new RowIndex(spec);
    this.isUnique = this.#index.isUnique;
    this.#isOrdered = spec.order !== undefined;
  }

  /** Returns the entries of a row. @throws TypeError for a row that the index refuses. */
  entriesOf(row: object): readonly Entry[] {
    const entries = this.#index.keysOf(row).flatMap((key) => this.#entriesOf(key));
    if (entries.length > 1 && new Set(entries.map(({ index, key }) => `${index} ${key}`)).size < entries.length) {
      throw new TypeError(
        `Two values of an array in an index with an order begin with the same ${LONGEST_KEY} characters. Write values that differ earlier.`,
      );
    }
    return entries;
  }

  #entriesOf(key: string): Entry[] {
    const index = this.id;
    const { isUnique } = this;
    if (!isLong(key)) return [{ index, key, isUnique, whole: null }];
    if (!this.#isOrdered) return [{ index, key: digestOf(key), isUnique, whole: null }];
    const ordered = { index, key: beginningOf(key), isUnique: false, whole: key };
    return isUnique ? [ordered, { index: -index, key: digestOf(key), isUnique, whole: null }] : [ordered];
  }

  /** Returns the key of the entries with these values. `whole` is set if entries of other values may have the same key. */
  lookUp(values: readonly unknown[]): { readonly key: string; readonly whole: string | null } {
    const key = this.#index.lookUp(values);
    if (this.#isOrdered) return { key: beginningOf(key), whole: mayBeShared(key) ? key : null };
    return { key: isLong(key) ? digestOf(key) : key, whole: null };
  }

  /** @throws TypeError for a range of another index. */
  rangeOf(range: Range): KeyRange {
    return this.#index.rangeOf(range);
  }
}
