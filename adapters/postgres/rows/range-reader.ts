import type { Range } from '../../../lib/store/directory-store.js';
import { compareTexts } from '../../../lib/store/index-order.js';
import type { KeyRange } from '../../sql/row-index.js';
import type { Call } from '../connection.js';
import { beginningOf, mayBeShared, type RegisteredIndex } from './entries.js';
import type { Found, Statements, Stored } from './statements.js';

/** Text that sorts above every escaped id. */
const ABOVE_ALL = '\u{10ffff}\u{10ffff}';

interface Position {
  readonly key: string;
  readonly id: string;
}

export interface RangeReaderOptions {
  readonly sql: Statements;
  readonly collection: string;
  readonly index: RegisteredIndex;
  readonly range: Range;
}

/**
 * Reader of one range along the entries of an index. The `key` of an entry is only the beginning of a long index key. Entries that share a beginning are
 * therefore read by a separate statement, in the order of their whole index keys.
 */
export class RangeReader {
  readonly #sql: Statements;
  readonly #direction: 'ascending' | 'descending';
  readonly #limit: number;
  /** First parameters of each statement. */
  readonly #of: readonly string[];
  readonly #keys: KeyRange;

  /** @throws TypeError for a range that does not fit the index. */
  constructor({ sql, collection, index, range }: RangeReaderOptions) {
    this.#sql = sql;
    this.#direction = range.descending ? 'descending' : 'ascending';
    this.#limit = range.limit;
    this.#of = [collection, String(index.id)];
    this.#keys = index.rangeOf(range);
  }

  async read(call: Call): Promise<readonly Stored[]> {
    const found: Stored[] = [];
    let start = this.#start();
    let position: Position = { key: beginningOf(start.key), id: start.id };
    let beginning = mayBeShared(position.key) ? position.key : undefined;
    while (found.length < this.#limit) {
      if (beginning === undefined) {
        const page = await this.#entries(call, position, this.#limit - found.length);
        const shared = page.findIndex(({ key }) => mayBeShared(key));
        found.push(...(shared < 0 ? page : page.slice(0, shared)));
        if (shared < 0) break;
        beginning = page[shared]?.key;
      } else {
        found.push(...(await this.#shared(call, beginning, start, this.#limit - found.length)));
        position = { key: beginning, id: this.#isDescending ? '' : ABOVE_ALL };
        start = this.#isDescending ? { key: ABOVE_ALL, id: '' } : { key: '', id: '' };
        beginning = undefined;
      }
    }
    return found;
  }

  get #isDescending(): boolean {
    return this.#direction === 'descending';
  }

  /** Returns the position behind which the range begins. The position has a whole index key. */
  #start(): Position {
    const { from, below, after } = this.#keys;
    const end: Position = { key: this.#isDescending ? below : from, id: '' };
    if (after === undefined) return end;
    const order = compareTexts(after.key, end.key) * (this.#isDescending ? -1 : 1);
    return order >= 0 ? (order === 0 && this.#isDescending ? end : after) : end;
  }

  /** Reads the entries behind a position. */
  #entries(call: Call, { key, id }: Position, limit: number): Promise<readonly Found[]> {
    const { from, below } = this.#keys;
    const end = this.#isDescending ? from : below;
    const operator = this.#isDescending ? '>=' : beginningOf(end) === end ? '<' : '<=';
    const isLong = [from, below].some((bound) => beginningOf(bound) !== bound);
    const text = this.#sql.range(this.#direction, operator, isLong);
    const values = [...this.#of, key, id, beginningOf(end), String(limit)];
    return call.read<Found>(text, isLong ? [...values, from, below] : values);
  }

  /** Reads the entries that share a beginning, behind a position. */
  #shared(call: Call, beginning: string, { key, id }: Position, limit: number): Promise<readonly Found[]> {
    const { from, below } = this.#keys;
    return call.read<Found>(this.#sql.shared(this.#direction), [...this.#of, beginning, key, id, from, below, String(limit)]);
  }
}
