import type { Page } from '../../lib/store/directory-store.js';
import { compareTexts } from '../../lib/store/index-order.js';

/** A sorted set of ids. Ids that arrive in the order of time are appended. Other ids are moved into place. */
export class SortedIds {
  readonly #ids: string[] = [];

  get size(): number {
    return this.#ids.length;
  }

  add(id: string): void {
    const last = this.#ids.at(-1);
    const index = last === undefined || compareTexts(last, id) < 0 ? this.#ids.length : this.#firstFrom(id);
    if (this.#ids[index] !== id) this.#ids.splice(index, 0, id);
  }

  delete(id: string): void {
    const index = this.#firstFrom(id);
    if (this.#ids[index] === id) this.#ids.splice(index, 1);
  }

  has(id: string): boolean {
    return this.#ids[this.#firstFrom(id)] === id;
  }

  page(page: Page | undefined): readonly string[] {
    if (page === undefined) return this.#ids.slice();
    const index = page.after === undefined ? 0 : this.#firstFrom(page.after);
    const start = this.#ids[index] === page.after ? index + 1 : index;
    return this.#ids.slice(start, start + page.limit);
  }

  /** Returns the position of the first id that is not before this id. */
  #firstFrom(id: string): number {
    let low = 0;
    let high = this.#ids.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareTexts(this.#ids[middle]!, id) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
