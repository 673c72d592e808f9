import { afterAll, beforeAll, jest } from '@jest/globals';

/** Milliseconds from the start of a node to the first round of its sweep of records, and from one round to the next. */
const WAITS_MS = [36_000, 12_000];

/**
 * Lets a test begin each round of the sweep of records, instead of waiting for the round. Call this function before you declare the service
 * of the file. No round begins by itself, so that no pass ends before the test has damaged the rows.
 * @returns a function that begins the next round, unless a round is under way.
 */
export function useSweep(): () => void {
  const due = new Set<() => void>();
  beforeAll(() => {
    const original = globalThis.setTimeout;
    jest.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, wait?: number, ...more: unknown[]) => {
      if (wait === undefined || !WAITS_MS.includes(wait)) return original(run, wait, ...more);
      due.add(run);
      return original(() => {}, 1);
    }) as never);
  });
  afterAll(() => void jest.restoreAllMocks());
  return () => {
    const rounds = [...due];
    due.clear();
    for (const begin of rounds) begin();
  };
}
