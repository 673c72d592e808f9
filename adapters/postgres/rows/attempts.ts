import { setTimeout as sleep } from 'node:timers/promises';

/** Maximum milliseconds between two attempts, of a random time, so that two nodes that write one row do not collide repeatedly. */
const PAUSE_MS = 10;

/**
 * Attempts to write rows on condition of their version. The calls of this node for one row go one after the other. Otherwise each write of a row that many calls
 * write would make the attempts of all other calls fail.
 */
export class Attempts {
  /** The last call for each id. Never rejects. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Repeats an attempt until it has a result. */
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
