import { hash } from 'node:crypto';
import type { IndexSpec, Range } from '../../../lib/store/directory-store.js';
import { type KeyRange, RowIndex } from '../../sql/row-index.js';

/** Entry of a row in an index, as a row of the table `entries`. */
export interface Entry {
  readonly index: number;
  readonly key: string;
  readonly isUnique: boolean;
  /** Whole index key, if `key` is only the beginning of the index key. */
  readonly whole: string | null;
}

/** Maximum characters of an index key that is stored whole. In PostgreSQL, an entry has at most 2,704 bytes, of which up to 1,000 are the id of the row. */
const LONGEST_KEY = 400;
/**
 * Beginning of each digest of an index key. No index key begins with these characters, because an escaped text that begins with U+0002 never continues with
 * U+0005.
 */
const DIGEST = '\u0002\u0005';

/**
 * Returns the first characters of an index key. Beginnings sort in the order of their index keys, because all long index keys are cut to the same number of
 * characters.
 */
export const beginningOf = (key: string): string => (key.length <= LONGEST_KEY ? key : [...key].slice(0, LONGEST_KEY).join(''));

/** Returns whether several index keys may share this beginning. */
export const mayBeShared = (beginning: string): boolean => beginning.length >= LONGEST_KEY && [...beginning].length >= LONGEST_KEY;

const isLong = (key: string): boolean => beginningOf(key) !== key;
const digestOf = (key: string): string => DIGEST + hash('sha256', key, 'base64url');

/**
 * Registered index. An index key that is too long for an entry is stored as a digest. An index with an order stores the beginning of a long index key, in
 * addition to the whole index key. If this index is unique, a second entry has the digest, under the negative number of the index.
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

  /** Returns the `key` of the entries with these values. `whole` is set if entries with other values may have the same `key`. */
  lookUp(values: readonly unknown[]): { readonly key: string; readonly whole: string | null } {
    const key = this.#index.lookUp(values);
    if (this.#isOrdered) return { key: beginningOf(key), whole: mayBeShared(key) ? key : null };
    return { key: isLong(key) ? digestOf(key) : key, whole: null };
  }

  /** Returns the index keys of a range. @throws TypeError if the range does not fit the index. */
  rangeOf(range: Range): KeyRange {
    return this.#index.rangeOf(range);
  }
}
