/**
 * The time as JWTs and oidc-provider's records have it, in seconds.
 * @see RFC 7519 §2, NumericDate
 * @example
 * ```ts
 * import { epochSeconds } from 'tenant-idp/extension';
 *
 * const payload = { iat: epochSeconds(), exp: epochSeconds() + 60 };
 * ```
 */
export const epochSeconds = (): number => Math.floor(Date.now() / 1000);
