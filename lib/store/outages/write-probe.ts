/** Checks whether a store takes writes, because nobody can sign in while the store only answers reads. */

/** Milliseconds between two writes, however often callers check. */
const INTERVAL_MS = 1000;

/** The store answers reads and did not take a write. */
export class ReadOnlyError extends Error {
  override readonly name = 'ReadOnlyError';

  constructor(cause: unknown) {
    super('The store takes no writes.', { cause });
  }
}

/**
 * @param write makes a small write by the same path as all other writes.
 * @returns its outcome, or the outcome of a write less than a second ago.
 */
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
