import { deadlineAfter, leave } from '../times/free-time.js';

/** Limits concurrent work. Other calls wait in the order of their arrival, and only for a limited time. */
export interface ConcurrencyLimit {
  /** @throws Error if too many calls wait, or if this call waited `patienceMs`. Time counts only while this node is free. */
  run<T>(patienceMs: number, work: () => Promise<T>): Promise<T>;
  /** Returns whether no call runs or waits. */
  isIdle(): boolean;
}

export function createConcurrencyLimit({ max, maxWaiting }: { readonly max: number; readonly maxWaiting: number }): ConcurrencyLimit {
  const waiting: (() => void)[] = [];
  let running = 0;

  async function begin(patienceMs: number): Promise<void> {
    if (running < max) {
      running += 1;
      return;
    }
    if (waiting.length >= maxWaiting) throw new Error(`${maxWaiting} wait already`);
    await new Promise<void>((resolve, reject) => {
      const patience = deadlineAfter(patienceMs).enter(() => {
        waiting.splice(waiting.indexOf(start), 1);
        reject(new Error(`waited more than ${patienceMs} ms`));
      });
      const start = (): void => {
        leave(patience);
        resolve();
      };
      waiting.push(start);
    });
  }

  /** Lets the next call run. */
  function end(): void {
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  }

  return {
    async run(patienceMs, work) {
      await begin(patienceMs);
      try {
        return await work();
      } finally {
        end();
      }
    },
    isIdle: () => running === 0,
  };
}
