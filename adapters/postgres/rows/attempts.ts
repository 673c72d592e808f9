import { setTimeout as sleep } from 'node:timers/promises';

/** Maximum milliseconds between two attempts. The time is random, so that two nodes that write the same row do not collide repeatedly. */
const PAUSE_MS = 10;

/**
 * Attempts to write a row on condition that the version of the row is unchanged. Calls of this node for the same row run one after the other. Otherwise
 * each write of a busy row would make the attempts of all other calls fail.
 */
export class Attempts {
  /** Last call for each id, as a promise that never rejects. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Repeats an attempt until the attempt returns a result. */
  async repeat<T>(id: string, attempt: () => Promise<T | undefined>): Promise<T> {
    const before = this.#last.get(id);
    const turn = before === undefined ? repeated(attempt) : before.then(() => repeated(attempt));
    const settled = turn.catch(() => {});
    this.#last.set(id, settled);
    try {
      return await turn;
    } finally {
      if (this.#last.get(id) === settled) this.#last.delete(id);
    }
  }
}

async function repeated<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const result = await attempt();
    if (result !== undefined) return result;
    await sleep(Math.random() * PAUSE_MS);
  }
}
