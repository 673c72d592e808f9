/** Asks whether a store takes writes, because nobody can sign in over a store that only answers reads. */

/** Milliseconds between two writes, however often it is asked. */
const INTERVAL_MS = 1000;

/** The store answers reads and did not take a write. */
export class ReadOnlyError extends Error {
  override readonly name = 'ReadOnlyError';

  constructor(cause: unknown) {
    super('The store takes no writes.', { cause });
  }
}

/** @param write the smallest that goes the way of all others. @returns its outcome, or that of one less than a second ago. */
export function createWriteProbe(write: () => Promise<unknown>): () => Promise<void> {
  let askedAt = Number.NEGATIVE_INFINITY;
  let outcome: Promise<void> = Promise.resolve();
  return () => {
    const now = performance.now();
    if (now - askedAt >= INTERVAL_MS) {
      askedAt = now;
      outcome = write().then(() => {});
    }
    return outcome;
  };
}
