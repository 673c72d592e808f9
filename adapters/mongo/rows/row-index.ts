import type { Filter, IndexDescription } from 'mongodb';
import type { IndexSpec, Order, Ordered, Range } from '../../../lib/store/directory-store.js';
import { boundsOf, compareOrdered } from '../../../lib/store/index-order.js';
import { checkIndexable, lookUpTexts, noOrder, valuesAt } from '../../../lib/store/row-contract.js';
import { escapedName, type RowDocument } from './row-document.js';

/** Lowest value of each kind. Comparisons hold within a type, so a comparison matches an index's own values, or an array with such a value. */
const lowest = { text: '', instant: new Date(-8_640_000_000_000_000), number: Number.NEGATIVE_INFINITY } as const satisfies Record<
  Order,
  unknown
>;

/** A part of a range, read along the index. */
export interface Stretch {
  readonly filter: Filter<RowDocument>;
  readonly sort: readonly (readonly [string, 1 | -1])[];
}

/** A declared index. The server maintains the index, so the index also has the writes of nodes that do not know the index yet. */
export class RowIndex {
  readonly description: IndexDescription;
  readonly #fields: readonly string[];
  readonly #order: Order | undefined;
  readonly isUnique: boolean;

  constructor(name: string, { fields, unique = false, order }: IndexSpec) {
    this.#order = order;
    this.isUnique = unique;
    this.#fields = fields.map((field) => field.split('.').map(escapedName).join('.'));
    const keys = this.#fields.map((field) => [field, 1] as const);
    this.description = {
      name,
      // The id is the last field, so that pages of a look-up are read in order.
      key: new Map<string, 1>(unique ? keys : [...keys, ['_id', 1]]),
      ...(unique ? { unique } : {}),
      // Rows without a value are left out.
      partialFilterExpression: Object.fromEntries(
        this.#fields.map((field, index) => [field, { $gte: lowest[(index === fields.length - 1 && order) || 'text'] }]),
      ),
    };
  }

  /**
   * @throws TypeError if several of the fields are arrays, or if the ordering field is an array. MongoDB also refuses several arrays, but compatible
   * servers may not.
   */
  check(document: RowDocument): void {
    checkIndexable(valuesAt(document, this.#fields), this.#order !== undefined);
  }

  /** @throws TypeError unless there is one text for each field. */
  lookUp(values: readonly unknown[]): Filter<RowDocument> {
    return this.#equal(lookUpTexts(values, this.#fields.length, this.#order));
  }

  /**
   * Returns the stretches of a range, to be read one after the other. Rows that share the value of the position are a separate stretch, because servers do
   * not read a disjunction in the order of an index.
   * @throws TypeError for a range of another index.
   */
  stretches(range: Range): readonly Stretch[] {
    if (this.#order === undefined) throw noOrder(range.index);
    const { from = lowest[this.#order], below } = boundsOf(range, this.#fields, this.#order);
    const { after, descending = false, within } = range;
    const direction = descending ? -1 : 1;
    const equal = this.#equal(within);
    const along: Stretch['sort'] = [[this.#last, direction], ...(this.isUnique ? [] : [['_id', direction] as const])];
    const stretch = (values: object): Stretch => ({ filter: { ...equal, [this.#last]: values }, sort: along });
    const upTo = (end: Ordered | undefined) => ({ $gte: from, ...(end !== undefined && { $lt: end }) });
    if (after === undefined) return [stretch(upTo(below))];
    const { value, id } = after;
    const isAbove = below !== undefined && compareOrdered(value, below) >= 0;
    const isWithin = !isAbove && compareOrdered(value, from) >= 0;
    const ties: Stretch = {
      filter: { ...equal, [this.#last]: value, _id: { [descending ? '$lt' : '$gt']: id } },
      sort: [['_id', direction]],
    };
    const rest = stretch(descending ? upTo(isAbove ? below : value) : { ...upTo(below), $gt: value });
    return isWithin && !this.isUnique ? [ties, rest] : [rest];
  }

  get #last(): string {
    return this.#fields.at(-1) as string;
  }

  #equal(values: readonly unknown[]): Filter<RowDocument> {
    return Object.fromEntries(values.map((value, index) => [this.#fields[index] as string, value]));
  }
}
