/**
 * Returns a time as JWTs have it, in whole seconds. Use the time that all nodes share, which is `now` of the context.
 * @param at milliseconds since the epoch
 * @see RFC 7519 §2, NumericDate
 * @example
 * ```ts
 * import { type ExtensionContext, epochSeconds } from 'tenant-idp/extension';
 *
 * const payloadOf = ({ service: { now } }: ExtensionContext) => ({ iat: epochSeconds(now()), exp: epochSeconds(now()) + 60 });
 * ```
 */
export const epochSeconds = (at: number): number => Math.floor(at / 1000);
