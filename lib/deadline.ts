/** The time that a piece of work has. Neither timer nor signal exists until one of them is asked for. */
export class Deadline {
  #running: { readonly signal: AbortSignal; readonly expired: Promise<never>; readonly timer: NodeJS.Timeout } | undefined;

  /** @param timeoutMs milliseconds, from the first use on. */
  constructor(readonly timeoutMs: number) {}

  /** Aborted when the time is up. */
  get signal(): AbortSignal {
    return this.#start().signal;
  }

  /** The outcome of the work, or a rejection with a `TimeoutError` when the time is up first. What is there already takes no time. */
  within<T>(work: T | PromiseLike<T>): T | Promise<T> {
    return isPromise(work) ? Promise.race([work, this.#start().expired]) : work;
  }

  /** The work is done: the signal will not be aborted any more. */
  stop(): void {
    clearTimeout(this.#running?.timer);
  }

  #start() {
    if (this.#running) return this.#running;
    const controller = new AbortController();
    const { signal } = controller;
    const expired = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    // The signal alone may have been asked for: then nobody waits for this.
    expired.catch(() => undefined);
    const timer = setTimeout(
      () => controller.abort(new DOMException(`No result after ${this.timeoutMs} ms`, 'TimeoutError')),
      this.timeoutMs,
    );
    this.#running = { signal, expired, timer };
    return this.#running;
  }
}

/** Whether there is something to wait for. */
export const isPromise = <T>(value: T | PromiseLike<T>): value is PromiseLike<T> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
