import type { IndexSpec, Order, Ordered, Position, Range } from '../../lib/store/directory-store.js';
import { boundsOf, compareOrdered, compareTexts, isOrdered } from '../../lib/store/index-order.js';
import { checkIndexable, lookUpTexts, valueAt } from '../../lib/store/row-contract.js';
import { combinationsAt, haveSameAt, keyOf, type Path, pathOf, type RowIndex } from './row-index.js';
import { SortedIds } from './sorted-ids.js';
import { SortedList } from './sorted-list.js';

interface Entry {
  /** Key of the values of all fields except the last. */
  readonly within: string;
  readonly value: Ordered;
}

/** An index with an order: for each combination of the other fields, the positions of its rows. */
export class OrderedIndex implements RowIndex<Entry> {
  readonly unique: boolean;
  readonly #fields: readonly string[];
  readonly #order: Order;
  readonly #within: readonly Path[];
  readonly #last: Path;
  readonly #positions = new Map<string, SortedList<Position>>();

  constructor({ fields, unique = false }: IndexSpec, order: Order) {
    const paths = fields.map(pathOf);
    this.unique = unique;
    this.#fields = fields;
    this.#order = order;
    this.#within = paths.slice(0, -1);
    this.#last = paths.at(-1) as Path;
  }

  entriesOf(row: object): readonly Entry[] {
    const value = valueAt(row, this.#last);
    checkIndexable([value], true);
    return isOrdered(value, this.#order) ? combinationsAt(row, this.#within).map((within) => ({ within, value })) : [];
  }

  isUnmoved(before: object, after: object): boolean {
    return haveSameAt([...this.#within, this.#last], before, after);
  }

  isTaken({ within, value }: Entry, id: string): boolean {
    for (const position of this.#positions.get(within)?.from(beforeAll(value)) ?? []) {
      if (compareOrdered(position.value, value) !== 0) return false;
      if (position.id !== id) return true;
    }
    return false;
  }

  add({ within, value }: Entry, id: string): void {
    const positions = this.#positions.get(within) ?? new SortedList(comparePositions);
    positions.add({ value, id });
    this.#positions.set(within, positions);
  }

  delete({ within, value }: Entry, id: string): void {
    const positions = this.#positions.get(within);
    positions?.delete({ value, id });
    if (positions?.isEmpty) this.#positions.delete(within);
  }

  lookUp(values: readonly unknown[]): SortedIds {
    const texts = lookUpTexts(values, this.#fields.length, this.#order);
    const ids = new SortedIds();
    const value = texts.at(-1) as string;
    for (const position of this.#positions.get(keyOf(texts.slice(0, -1)))?.from(beforeAll(value)) ?? []) {
      if (position.value !== value) break;
      ids.add(position.id);
    }
    return ids;
  }

  /** Returns the ids of the rows of a range, in the order of the range. @throws TypeError for a range of another index. */
  range(range: Range): readonly string[] {
    const { after, descending = false, limit } = range;
    const { from, below } = boundsOf(range, this.#fields, this.#order);
    const positions = this.#positions.get(keyOf(range.within));
    const ids: string[] = [];
    if (positions === undefined) return ids;
    const [lowest, highest] = [from, below].map((value) => (value === undefined ? undefined : beforeAll(value)));
    const along = descending ? positions.downFrom(outermost([highest, after], -1)) : positions.from(outermost([lowest, after], 1));
    for (const position of along) {
      if (descending ? isBefore(position, lowest) : highest && !isBefore(position, highest)) break;
      if (after && comparePositions(position, after) === 0) continue;
      ids.push(position.id);
      if (ids.length === limit) break;
    }
    return ids;
  }
}

/** Returns the position before all rows with this value. The empty id comes first, because the ids of rows are not empty. */
const beforeAll = (value: Ordered): Position => ({ value, id: '' });

const comparePositions = (one: Position, other: Position): number =>
  compareOrdered(one.value, other.value) || compareTexts(one.id, other.id);

const isBefore = (position: Position, other: Position | undefined): boolean => other !== undefined && comparePositions(position, other) < 0;

/** Returns the outermost position: for the sign 1 the highest, for -1 the lowest. */
function outermost(positions: readonly (Position | undefined)[], sign: 1 | -1): Position | undefined {
  const [first, ...others] = positions.filter((position) => position !== undefined);
  return first && others.reduce((one, other) => (comparePositions(one, other) * sign > 0 ? one : other), first);
}
