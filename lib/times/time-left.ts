import { nodeTime } from './node-time.js';

/** Time until an instant in whole units, never less than one: what `Retry-After` and pages say. A caller that comes back earlier is refused again. */
const unitsUntil = (at: Date, unitMs: number): number => Math.max(1, Math.ceil((at.getTime() - nodeTime()) / unitMs));

/**
 * Whole seconds until an instant, one at least, as `Retry-After` has them.
 * @see RFC 9110 §10.2.3
 * @example
 * ```ts
 * import { type ExtensionContext, IdpError, secondsUntil } from 'tenant-idp/extension';
 *
 * async function countLetter({ attempts }: ExtensionContext, address: string): Promise<void> {
 *   const { count, resetsAt } = await attempts(`letters.to ${address}`, 3_600_000);
 *   if (count > 5) throw new IdpError('too_many_requests', { retryAfterSeconds: secondsUntil(resetsAt) });
 * }
 * ```
 */
export const secondsUntil = (at: Date): number => unitsUntil(at, 1000);

/**
 * Whole minutes until an instant, one at least, as pages tell people.
 * @example
 * ```ts
 * import { minutesUntil } from 'tenant-idp/extension';
 *
 * const wait = (resetsAt: Date): string => `Try again in ${minutesUntil(resetsAt)} minutes.`;
 * ```
 */
export const minutesUntil = (at: Date): number => unitsUntil(at, 60_000);
