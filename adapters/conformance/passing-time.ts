import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds for records that expire during a case. */
export const SHORT = 40;

/** Milliseconds for records that stay. */
export const LONG = 60_000;

/** Maximum milliseconds between the clock of a store and the clock of this process, on one machine. */
const MARGIN = 15;

/** Resolves when an instant has passed for the store too. */
export async function pass(instant: number): Promise<void> {
  while (Date.now() < instant + MARGIN) await sleep(instant + MARGIN - Date.now());
}

/** Calls a function this many times, concurrently. */
export const atOnce = <T>(times: number, call: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: times }, (_, index) => call(index)));
