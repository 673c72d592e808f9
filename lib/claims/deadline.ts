import { isPromise } from '../awaitable.js';

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
