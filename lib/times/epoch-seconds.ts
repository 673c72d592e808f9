/**
 * Returns a time as JWTs have it, in whole seconds. Use the time that all nodes share, which is `now` of the context.
 * @param instant milliseconds since the epoch
 * @see RFC 7519 §2, NumericDate
 * @example
 * ```ts
 * import { type ExtensionContext, epochSeconds } from 'tenant-idp/extension';
 *
 * const payloadOf = ({ service }: ExtensionContext) => ({ iat: epochSeconds(service.now()), exp: epochSeconds(service.now()) + 60 });
 * ```
 */
export const epochSeconds = (instant: number): number => Math.floor(instant / 1000);
