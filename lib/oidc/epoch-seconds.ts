/** The time as JWTs and oidc-provider's records have it, in seconds. @see RFC 7519 §2, NumericDate */
export const epochSeconds = (): number => Math.floor(Date.now() / 1000);
