/** Seconds before the second attempt, the third attempt, and so on: about eight hours in all. */
const RETRY_SECONDS: readonly number[] = [5, 30, 120, 600, 3_600, 21_600];

/** Returns a time within a quarter of the given time. Work that failed at the same time is then not retried at the same time. */
export const withJitter = (time: number): number => time * (0.75 + Math.random() / 2);

/**
 * Returns the milliseconds to wait before the next attempt; undefined when there is none, because the attempt failed too often.
 * @param failures attempts that failed before the one that failed now
 * @param seconds before the second attempt, the third … @default 5 seconds, 30 seconds, and so on for about eight hours
 * @example
 * ```ts
 * import { retryAfterMs } from 'tenant-idp/extension';
 *
 * const wait = retryAfterMs(0, [60, 3_600]);
 * const next = wait === undefined ? 'given up' : `in ${wait} milliseconds`;
 * ```
 */
export function retryAfterMs(failures: number, seconds: readonly number[] = RETRY_SECONDS): number | undefined {
  const wait = seconds[failures];
  return wait === undefined ? undefined : withJitter(wait * 1000);
}

/** Returns milliseconds that double with each consecutive failure, up to a maximum. */
export const doubledWait = (first: number, failures: number, most: number): number =>
  withJitter(Math.min(first * 2 ** Math.max(failures - 1, 0), Math.max(first, most)));
