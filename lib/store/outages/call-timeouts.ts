/**
 * Outages: stores that are slow, away or back.
 *
 * This file limits a call of a store in time, so that a request is answered in 1.5 s whatever its stores do, unless several calls before the one
 * that hangs were slow as well. `outages` tells each outage once, `health` asks the stores on demand.
 */
import { deadlineAfter, freeTime, leave } from '../../times/free-time.js';

/** An answer may take 1000 ms. */
const usual = deadlineAfter(1000);
/**
 * 250 ms while a store is suspect: a request whose first call timed out and that asks again is still answered in time, and a store that hangs
 * does not hold every request for the whole second. Any answer clears a store, a late one too.
 */
const suspect = deadlineAfter(250);

/** Timeouts of the calls to the stores of one service. */
export class CallTimeouts {
  /** Stores that owe an answer. A request may need several stores, so a suspect one shortens the timeout of all. */
  readonly #suspects = new Set<object>();
  /** When a suspect store last answered. A timeout of a call begun before that does not make a store suspect again. */
  #clearedAt = -1;

  /**
   * The outcome of a call, or a `TimeoutError` when no answer comes in time.
   * @param store any object that stands for the store.
   * @param explain turns an error of the call into the one to throw; an error that it returns unchanged counts as an answer.
   * @param isProbe for a call that asks after this store alone: suspicion of another store does not shorten it.
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
