/** The time that a piece of work has. Neither timer nor signal exists until one of them is needed: most work is done at once. */
export class Deadline {
  #timer: NodeJS.Timeout | undefined;
  #controller: AbortController | undefined;
  #expired: DOMException | undefined;
  readonly #waiting: ((reason: DOMException) => void)[] = [];

  /** @param timeoutMs milliseconds, from the first use on. */
  constructor(readonly timeoutMs: number) {}

  /** Aborted when the time is up. */
  get signal(): AbortSignal {
    this.#start();
    this.#controller ??= new AbortController();
    if (this.#expired) this.#controller.abort(this.#expired);
    return this.#controller.signal;
  }

  /** The outcome of the work, or a rejection with a `TimeoutError` when the time is up first. What is there already takes no time. */
  within<T>(work: T | PromiseLike<T>): T | Promise<T> {
    if (!isPromise(work)) return work;
    this.#start();
    return new Promise((resolve, reject) => {
      work.then(resolve, reject);
      // Work that is done wins over a time that is up: its reaction came first.
      if (this.#expired) Promise.reject(this.#expired).catch(reject);
      else this.#waiting.push(reject);
    });
  }

  /** The work is done: the signal will not be aborted any more. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  #start(): void {
    this.#timer ??= setTimeout(() => {
      this.#expired = new DOMException(`No result after ${this.timeoutMs} ms`, 'TimeoutError');
      this.#controller?.abort(this.#expired);
      for (const reject of this.#waiting) reject(this.#expired);
    }, this.timeoutMs);
  }
}

/** Whether there is something to wait for. */
export const isPromise = <T>(value: T | PromiseLike<T>): value is PromiseLike<T> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';

/** What `next` makes of a value: at once where the value is there, because a promise costs more than most of what waits for one. */
export const onceThere = <T, U>(value: T | PromiseLike<T>, next: (value: T) => U | Promise<U>): U | Promise<U> =>
  isPromise(value) ? Promise.resolve(value).then(next) : next(value);

/** The values once all are there; at once when they are. `Promise.all` makes two promises even of what is no promise. */
export function allOf<T>(values: readonly (T | PromiseLike<T>)[]): readonly T[] | Promise<readonly T[]> {
  const pending = values.filter(isPromise).length;
  if (pending === 0) return values as readonly T[];
  return new Promise((resolve, reject) => {
    const settled = [...values] as T[];
    let left = pending;
    for (const [index, value] of values.entries()) {
      if (!isPromise(value)) continue;
      value.then((there) => {
        settled[index] = there;
        left -= 1;
        if (left === 0) resolve(settled);
      }, reject);
    }
  });
}
