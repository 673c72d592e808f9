/** Returns the current time as JWTs express it. @see RFC 7519 §2, NumericDate */
export const epochSeconds = (): number => Math.floor(Date.now() / 1000);
