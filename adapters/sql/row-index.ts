import type { IndexSpec, Order, Ordered, Range } from '../../lib/store/directory-store.js';
import { boundsOf, isOrdered } from '../../lib/store/index-order.js';
import { checkIndexable, lookUpTexts, noOrder, valuesAt } from '../../lib/store/row-contract.js';
import { boundsOfKeys, keyOf, orderedNumber, orderedText } from './ordered-text.js';

/** Range of index keys in a declared index: at or above `from`, below `below`, and behind the position `after`. */
export interface KeyRange {
  readonly from: string;
  readonly below: string;
  readonly after?: { readonly key: string; readonly id: string };
}

/**
 * Declared index. An entry consists of an index key and the escaped id of a row. An index key has all fields of the index. Entries that are sorted by index
 * key and id are therefore in the order of the index.
 */
export class RowIndex {
  readonly isUnique: boolean;
  readonly #fields: readonly string[];
  readonly #order: Order | undefined;

  constructor({ fields, unique = false, order }: IndexSpec) {
    this.isUnique = unique;
    this.#fields = fields;
    this.#order = order;
  }

  /** Returns the index keys of a row. @throws TypeError if more than one field of the index is an array, or if the ordering field is an array. */
  keysOf(row: object): readonly string[] {
    const values = valuesAt(row, this.#fields);
    checkIndexable(values, this.#order !== undefined);
    const parts = values.map((value, index) => this.#partsOf(value, index));
    const combinations = parts.reduce<readonly (readonly string[])[]>(
      (keys, choices) => keys.flatMap((key) => choices.map((choice) => [...key, choice])),
      [[]],
    );
    return [...new Set(combinations.map(keyOf))];
  }

  /**
   * Returns the index key of these values.
   * @throws TypeError if the values are not one string for each field, or if the index orders instants or numbers.
   */
  lookUp(values: readonly unknown[]): string {
    return keyOf(lookUpTexts(values, this.#fields.length, this.#order).map(orderedText));
  }

  /** Returns the index keys of a range. @throws TypeError if the range does not fit the index. */
  rangeOf(range: Range): KeyRange {
    const order = this.#order;
    if (order === undefined) throw noOrder(range.index);
    const { from, below } = boundsOf(range, this.#fields, order);
    const within = range.within.map(orderedText);
    const all = boundsOfKeys(within);
    const keyAt = (value: Ordered): string => keyOf([...within, orderedPart(value)]);
    return {
      from: from === undefined ? all.from : keyAt(from),
      below: below === undefined ? all.below : keyAt(below),
      ...(range.after && { after: { key: keyAt(range.after.value), id: orderedText(range.after.id) } }),
    };
  }

  /** Returns one part of an index key for each value of the field. Returns no part if the row is not in the index. */
  #partsOf(value: unknown, field: number): readonly string[] {
    if (this.#order !== undefined && field === this.#fields.length - 1) return isOrdered(value, this.#order) ? [orderedPart(value)] : [];
    const elements: readonly unknown[] = Array.isArray(value) ? value : [value];
    return elements.filter((element) => typeof element === 'string').map(orderedText);
  }
}

const orderedPart = (value: Ordered): string => (typeof value === 'string' ? orderedText(value) : orderedNumber(Number(value)));
