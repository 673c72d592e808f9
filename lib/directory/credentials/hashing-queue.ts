/**
 * A queue for work that occupies a processor. Requests are sorted by address and name, in start-time fair queuing, so that many requests of one address
 * delay only that address. A request that would wait too long is refused immediately.
 * @see Goyal, Vin, Cheng: Start-time Fair Queuing (1996)
 */
import { IdpError } from '../../errors.js';

export interface HashingQueue {
  /**
   * Runs the tasks of one request.
   * @param from the address and the user name of the request.
   * @throws IdpError `busy`, with `retryAfterSeconds`, if the tasks would wait too long.
   */
  run<T>(tasks: readonly (() => Promise<T>)[], from: readonly string[]): Promise<T[]>;
}

export interface HashingQueueOptions {
  /** Number of concurrent tasks. */
  readonly places: number;
  /** Maximum milliseconds that a request waits. */
  readonly longestWaitMs: number;
  /** Milliseconds of a task, until some are measured. */
  readonly taskMs: number;
  /** Returns milliseconds since any fixed instant. @default performance.now */
  readonly now?: () => number;
}

interface Waiting {
  /** Virtual time at which the request runs. */
  readonly turn: number;
  start(): void;
}

/** Weight of the last measurement in the average. */
const WEIGHT = 0.2;
/** Number of stored names above which past ones are removed. */
const MAX_NAMES = 1000;

export function createHashingQueue({ places, longestWaitMs, taskMs, now = () => performance.now() }: HashingQueueOptions): HashingQueue {
  const queue: Waiting[] = [];
  /** Virtual time of the next request of an address or a name. */
  const nextTurns = new Map<string, number>();
  let virtualTime = 0;
  let running = 0;
  let averageMs = taskMs;

  /** Returns the virtual time of the request, and the number of requests before it. */
  const turnOf = (from: readonly string[]): { readonly turn: number; readonly before: number } => {
    const turn = Math.max(virtualTime, ...from.map((name) => nextTurns.get(name) ?? 0));
    const index = queue.findIndex((waiting) => waiting.turn > turn);
    return { turn, before: index < 0 ? queue.length : index };
  };

  const take = (from: readonly string[], turn: number): void => {
    if (nextTurns.size > MAX_NAMES) for (const [name, next] of nextTurns) if (next <= virtualTime) nextTurns.delete(name);
    for (const name of from) nextTurns.set(name, turn);
  };

  const startNext = (): void => {
    while (running < places) {
      const next = queue.shift();
      if (!next) break;
      virtualTime = next.turn;
      next.start();
    }
    if (running > 0) return;
    virtualTime = 0;
    nextTurns.clear();
  };

  async function measured<T>(task: () => Promise<T>): Promise<T> {
    const began = now();
    running += 1;
    try {
      return await task();
    } finally {
      averageMs += (now() - began - averageMs) * WEIGHT;
      running -= 1;
      startNext();
    }
  }

  return {
    run(tasks, from) {
      const { turn, before } = turnOf(from);
      const waitMs = (Math.max(0, running + before + tasks.length - places) / places) * averageMs;
      if (waitMs > longestWaitMs) return Promise.reject(busy(waitMs));
      take(from, turn + tasks.length);
      const entries = tasks.map((task) => waitingFor(task, turn));
      queue.splice(before, 0, ...entries);
      startNext();
      return startedInTime(entries);
    },
  };

  function waitingFor<T>(task: () => Promise<T>, turn: number): Waiting & { readonly answer: Promise<T> } {
    let start = () => {};
    const answer = new Promise<T>((resolve, reject) => {
      start = () => void measured(task).then(resolve, reject);
    });
    return { turn, start, answer };
  }

  /** Returns the results of the tasks, or rejects as `busy` if a task does not start in time. The estimate of the wait may have been too low. */
  function startedInTime<T>(entries: readonly (Waiting & { readonly answer: Promise<T> })[]): Promise<T[]> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const late = entries.filter((entry) => queue.includes(entry));
        if (late.length === 0) return;
        for (const entry of late) queue.splice(queue.indexOf(entry), 1);
        reject(busy(longestWaitMs));
      }, longestWaitMs);
      Promise.all(entries.map(({ answer }) => answer))
        .then(resolve, reject)
        .finally(() => clearTimeout(timer));
    });
  }
}

const busy = (waitMs: number): IdpError => new IdpError('busy', { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) });
