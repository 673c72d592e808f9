import type { Awaitable } from '../awaitable.js';

/** Steps that undo what a start has opened. */
export interface Closing {
  add(close: () => Awaitable<void>): void;
  /** Runs each step once, the last step first. */
  close(): Promise<void>;
}

export function createClosing(): Closing {
  const steps: (() => Awaitable<void>)[] = [];
  return {
    add: (close) => void steps.push(close),
    async close() {
      for (let step = steps.pop(); step; step = steps.pop()) await step();
    },
  };
}
