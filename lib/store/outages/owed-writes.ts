/** Writes that a store is owed, because the store was unavailable when they were due. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds between two attempts to reach the store. The milliseconds double with each attempt, up to the longest. */
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [100, 5000];
/** Maximum number of keys with a write. Further writes are dropped. */
const MOST_KEYS = 1000;

/** Writes that wait for a store, at most one for each key. No request waits for these writes. */
export class OwedWrites<Key, Write> {
  readonly #owed = new Map<Key, Write>();
  readonly #repay: (key: Key, write: Write) => Promise<boolean>;
  readonly #stop = new AbortController();
  #settling: Promise<void> | undefined;

  /** @param repay sends a write and removes it, or removes a write that came too late. Returns false while the store is unavailable */
  constructor(repay: (key: Key, write: Write) => Promise<boolean>) {
    this.#repay = repay;
  }

  get(key: Key): Write | undefined {
    return this.#owed.get(key);
  }

  /** Returns the write of a key, and removes it. */
  take(key: Key): Write | undefined {
    const write = this.#owed.get(key);
    this.#owed.delete(key);
    return write;
  }

  /** Adds a write, which replaces an earlier write of the same key. */
  owe(key: Key, write: Write): void {
    if (this.#stop.signal.aborted || (!this.#owed.has(key) && this.#owed.size >= MOST_KEYS)) return;
    this.#owed.set(key, write);
    this.#settling ??= this.#settle()
      .catch(() => undefined)
      .finally(() => {
        this.#settling = undefined;
      });
  }

  /** Sends the write of a key, if there is one. Returns false while the store is unavailable. */
  async repay(key: Key): Promise<boolean> {
    const write = this.#owed.get(key);
    return write === undefined || this.#repay(key, write);
  }

  /** Drops all writes, and stops the wait for the store. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#owed.clear();
    await this.#settling;
  }

  /** Waits until the store answers, and sends what is owed. */
  async #settle(): Promise<void> {
    for (let pause = FIRST_PAUSE_MS; this.#owed.size > 0; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      await sleep(pause, undefined, { ref: false, signal: this.#stop.signal });
      for (const key of this.#owed.keys()) if (!(await this.repay(key))) break;
    }
  }
}
