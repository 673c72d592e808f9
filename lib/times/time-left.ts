/**
 * Returns the time until an instant in whole units, at least one, for `Retry-After` and pages. The time is rounded up, because an earlier retry would be
 * refused again.
 */
const unitsUntil = (instant: Date, now: () => number, unitMs: number): number =>
  Math.max(1, Math.ceil((instant.getTime() - now()) / unitMs));

/**
 * Returns the whole seconds until an instant, at least one, for `Retry-After`.
 * @param now the time that all nodes share, which is `service.now` of the context
 * @see RFC 9110 §10.2.3
 * @example
 * ```ts
 * import { type ExtensionContext, IdpError, secondsUntil } from 'tenant-idp/extension';
 *
 * async function countLetter({ limits, service }: ExtensionContext, address: string): Promise<void> {
 *   const { count, resetsAt } = await limits.attempts(`letters.to ${address}`, 3_600_000);
 *   if (count > 5) throw new IdpError('too_many_requests', { retryAfterSeconds: secondsUntil(resetsAt, service.now) });
 * }
 * ```
 */
export const secondsUntil = (instant: Date, now: () => number): number => unitsUntil(instant, now, 1000);

/**
 * Returns the whole minutes until an instant, at least one, for pages.
 * @param now the time that all nodes share, which is `service.now` of the context
 * @example
 * ```ts
 * import { type ExtensionContext, minutesUntil } from 'tenant-idp/extension';
 *
 * const wait = ({ service: { now } }: ExtensionContext, resetsAt: Date): string => `Try again in ${minutesUntil(resetsAt, now)} minutes.`;
 * ```
 */
export const minutesUntil = (instant: Date, now: () => number): number => unitsUntil(instant, now, 60_000);
