/**
 * How long a store is waited for, so that a request is answered in 1.5 s whatever its stores do, unless several calls before the one that hangs
 * were slow as well.
 */
import { deadlineAfter, freeTime, leave } from './free-time.js';

/** An answer may take 1000 ms. */
const patient = deadlineAfter(1000);
/**
 * While a store owes one, 250 ms: a request whose first call was given up and that asks again is answered in time all the same, and a store that
 * hangs does not keep every request for the whole of that. Any answer ends the doubt, a late one too.
 */
const doubtful = deadlineAfter(250);

/** How long the stores of one service are waited for. */
export class Patience {
  /** Stores that owe an answer. A request may need several, so one in doubt shortens the time of all. */
  readonly #doubted = new Set<object>();
  /** When a doubt last ended: what began before and is given up after it says nothing new of a store that is slow and not away. */
  #endedAt = -1;

  /**
   * The outcome of a call; of one that is not answered in time, a `TimeoutError`.
   * @param store whichever object stands for it.
   * @param explain makes the error of what went wrong; what it leaves as it is counts as an answer.
   * @param isProbe for a call that asks after this store alone: the others' doubt does not shorten it.
   */
  wait<T>(store: object, call: () => Promise<T>, explain: (error: unknown) => unknown, isProbe = false): Promise<T> {
    return new Promise((resolve, reject) => {
      const queue = this.#doubted.size > 0 && !isProbe ? doubtful : patient;
      const waiting = queue.enter(() => {
        if (queue === patient || waiting.since > this.#endedAt) this.#doubted.add(store);
        reject(explain(new DOMException(`No answer after ${queue.milliseconds} ms`, 'TimeoutError')));
      });
      const answered = (): void => {
        if (this.#doubted.size > 0 && this.#doubted.delete(store)) this.#endedAt = freeTime();
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
