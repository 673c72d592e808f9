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
 * time. A store that hangs does not delay every request for a whole second. Any answer clears a store, even a late one. Only the answer to a
 * write clears writes, because a store may answer reads while its writes hang.
 */
const suspect = deadlineAfter(250);

/** Kind of a call. A probe is a call about one store alone. Suspicion of other stores does not shorten the timeout of a probe. */
export interface CallKind {
  readonly isWrite?: boolean;
  readonly isProbe?: boolean;
}

/** Stores that did not answer in time. */
class Suspects {
  readonly #stores = new Set<object>();
  /** Time at which a suspect store last answered. A timeout of a call that began before this time does not make a store suspect again. */
  #clearedAt = -1;

  get areThere(): boolean {
    return this.#stores.size > 0;
  }

  add(store: object, { since, isUsual }: { readonly since: number; readonly isUsual: boolean }): void {
    if (isUsual || since > this.#clearedAt) this.#stores.add(store);
  }

  clear(store: object): void {
    if (this.#stores.size > 0 && this.#stores.delete(store)) this.#clearedAt = freeTime();
  }
}

/** Timeouts of the calls to the stores of one service. */
export class CallTimeouts {
  // A request may need several stores, so a suspect store shortens the timeouts of all.
  readonly #suspects = new Suspects();
  /** Stores whose writes are suspect, whether they answer reads or not. */
  readonly #suspectWrites = new Suspects();

  /**
   * Returns the outcome of a call, or throws a `TimeoutError` when no answer comes in time.
   * @param store any object that stands for the store.
   * @param explain converts an error of the call into the error to throw. An error that `explain` returns unchanged counts as an answer.
   */
  wait<T>(store: object, call: () => Promise<T>, explain: (error: unknown) => unknown, kind: CallKind = {}): Promise<T> {
    const { isWrite = false, isProbe = false } = kind;
    return new Promise((resolve, reject) => {
      const isSuspect = this.#suspects.areThere || (isWrite && this.#suspectWrites.areThere);
      const queue = isSuspect && !isProbe ? suspect : usual;
      const waiting = queue.enter(() => {
        const late = { since: waiting.since, isUsual: queue === usual };
        this.#suspects.add(store, late);
        if (isWrite) this.#suspectWrites.add(store, late);
        reject(explain(new DOMException(`No answer after ${queue.milliseconds} ms`, 'TimeoutError')));
      });
      const answered = (): void => {
        this.#suspects.clear(store);
        if (isWrite) this.#suspectWrites.clear(store);
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
