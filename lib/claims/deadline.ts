import { isPromise } from '../awaitable.js';

/** The maximum time of a piece of work. The timer and the signal are created on first use, because most work ends immediately. */
export class Deadline {
  #timer: NodeJS.Timeout | undefined;
  #controller: AbortController | undefined;
  #expired: DOMException | undefined;
  readonly #waiting: ((reason: DOMException) => void)[] = [];

  /** @param timeoutMs milliseconds, counted from the first use. */
  constructor(readonly timeoutMs: number) {}

  /** Returns the signal that is aborted when the time is up. */
  get signal(): AbortSignal {
    this.#start();
    this.#controller ??= new AbortController();
    if (this.#expired) this.#controller.abort(this.#expired);
    return this.#controller.signal;
  }

  /** Returns the result of the work. Rejects with a `TimeoutError` if the time is up first. A value that is not a promise never times out. */
  within<T>(work: T | PromiseLike<T>): T | Promise<T> {
    if (!isPromise(work)) return work;
    this.#start();
    return new Promise((resolve, reject) => {
      work.then(resolve, reject);
      // Completed work wins over an expired time, because the reaction to the work was registered first.
      if (this.#expired) Promise.reject(this.#expired).catch(reject);
      else this.#waiting.push(reject);
    });
  }

  /** Ends the deadline after the work. The signal is not aborted afterwards. */
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
