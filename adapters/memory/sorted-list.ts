/** Maximum items of a chunk, in which items are moved one by one. */
const CHUNK = 512;

/** Distinct items in the order of a comparison. The items are in chunks, so that an insertion into a long list moves only a few items. */
export class SortedList<T> {
  readonly #compare: (one: T, other: T) => number;
  readonly #chunks: T[][] = [];

  constructor(compare: (one: T, other: T) => number) {
    this.#compare = compare;
  }

  get isEmpty(): boolean {
    return this.#chunks.length === 0;
  }

  add(item: T): void {
    const [chunkIndex, index] = this.#firstFrom(item);
    // An item after all others joins the last chunk.
    const chunk = this.#chunks[chunkIndex] ?? this.#chunks.at(-1);
    if (chunk === undefined) {
      this.#chunks.push([item]);
      return;
    }
    const place = this.#chunks[chunkIndex] === undefined ? chunk.length : index;
    if (place < chunk.length && this.#compare(chunk[place] as T, item) === 0) return;
    chunk.splice(place, 0, item);
    if (chunk.length > CHUNK) this.#chunks.splice(this.#chunks.indexOf(chunk) + 1, 0, chunk.splice(CHUNK / 2));
  }

  delete(item: T): void {
    const [chunkIndex, index] = this.#firstFrom(item);
    const chunk = this.#chunks[chunkIndex];
    if (chunk === undefined || this.#compare(chunk[index] as T, item) !== 0) return;
    chunk.splice(index, 1);
    if (chunk.length === 0) this.#chunks.splice(chunkIndex, 1);
  }

  /** Yields items in ascending order, from the first item that is not before the given item. */
  *from(start?: T): Generator<T, undefined> {
    let [chunkIndex, index] = start === undefined ? [0, 0] : this.#firstFrom(start);
    for (let chunk = this.#chunks[chunkIndex]; chunk !== undefined; chunk = this.#chunks[++chunkIndex]) {
      for (; index < chunk.length; index += 1) yield chunk[index] as T;
      index = 0;
    }
  }

  /** Yields items in descending order, from the last item that is before the given item. */
  *downFrom(end?: T): Generator<T, undefined> {
    const [last, index] = end === undefined ? [this.#chunks.length, 0] : this.#firstFrom(end);
    for (let chunkIndex = last, from = index - 1; chunkIndex >= 0; chunkIndex -= 1) {
      const chunk = this.#chunks[chunkIndex] ?? [];
      for (let place = chunkIndex === last ? from : chunk.length - 1; place >= 0; place -= 1) yield chunk[place] as T;
      from = -1;
    }
  }

  /** Returns the chunk, and the position in the chunk, of the first item that is not before this item. */
  #firstFrom(item: T): [chunk: number, index: number] {
    const chunkIndex = firstIndex(this.#chunks, (chunk) => this.#compare(chunk.at(-1) as T, item) >= 0);
    const chunk = this.#chunks[chunkIndex] ?? [];
    return [chunkIndex, firstIndex(chunk, (one) => this.#compare(one, item) >= 0)];
  }
}

/** Returns the index of the first matching element. The matching elements must be the last elements of the list. */
function firstIndex<T>(list: readonly T[], fits: (element: T) => boolean): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (fits(list[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}
