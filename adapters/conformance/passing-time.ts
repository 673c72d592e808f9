import { setTimeout as sleep } from 'node:timers/promises';

/** For records that are to expire while a case looks on, in milliseconds. */
export const SHORT = 40;

/** For records that are to stay, in milliseconds. */
export const LONG = 60_000;

/** More than the clocks of a store and of this process differ on one machine, in milliseconds. */
const MARGIN = 15;

/** Resolves when an instant has passed for the store as well. */
export async function pass(instant: number): Promise<void> {
  while (Date.now() < instant + MARGIN) await sleep(instant + MARGIN - Date.now());
}

/** Calls a function so many times at once. */
export const atOnce = <T>(times: number, call: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: times }, (_, index) => call(index)));
