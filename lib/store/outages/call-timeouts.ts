/**
 * Outages: stores that are slow, unavailable or available again.
 *
 * `call-timeouts` limits the time of a call to a store, so that a request is answered in 1.5 s whatever its stores do. The exception is a
 * request in which several calls were slow before the call that hangs. `outages` logs each outage once, and `health` asks the stores on
 * demand.
 */
import { deadlineAfter, freeTime, leave } from '../../times/free-time.js';

/** An answer may take 1000 ms. */
const usual = deadlineAfter(1000);
/**
 * An answer may take 250 ms while a store is suspect. A request whose first call timed out and that asks again is then still answered in
 * time. A store that hangs does not delay every request for a whole second. Any answer clears a store, even a late one.
 */
const suspect = deadlineAfter(250);

/** Timeouts of the calls to the stores of one service. */
export class CallTimeouts {
  /** Stores that did not answer in time. A request may need several stores, so a suspect store shortens the timeout of all. */
  readonly #suspects = new Set<object>();
  /** Time at which a suspect store last answered. A timeout of a call that began before this time does not make a store suspect again. */
  #clearedAt = -1;

  /**
   * Returns the outcome of a call, or throws a `TimeoutError` when no answer comes in time.
   * @param store any object that stands for the store.
   * @param explain converts an error of the call into the error to throw. An error that `explain` returns unchanged counts as an answer.
   * @param isProbe for a call about this store alone. Suspicion of another store does not shorten the timeout of such a call.
   */
  wait<T>(store: object, call: () => Promise<T>, explain: (error: unknown) => unknown, isProbe = false): Promise<T> {
    return new Promise((resolve, reject) => {
      const queue = this.#suspects.size > 0 && !isProbe ? suspect : usual;
      const waiting = queue.enter(() => {
        if (queue === usual || waiting.since > this.#clearedAt) this.#suspects.add(store);
        reject(explain(new DOMException(`No answer after ${queue.milliseconds} ms`, 'TimeoutError')));
      });
      const answered = (): void => {
        if (this.#suspects.size > 0 && this.#suspects.delete(store)) this.#clearedAt = freeTime();
      };
      const failed = (error: unknown): void => {
        leave(waiting);
        const explained = explain(error);
        if (explained === error) answered();
        reject(explained);
      };
      try {
        call().then((value) => {
          leave(waiting);
          answered();
          resolve(value);
        }, failed);
      } catch (error) {
        failed(error);
      }
    });
  }
}
