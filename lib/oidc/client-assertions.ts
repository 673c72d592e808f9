import { errors, type KoaContextWithOIDC } from 'oidc-provider';

/** Seconds a client assertion may be valid for. */
const MAX_LIFETIME = 300;
/** Seconds that a client's clock may be off. */
const TOLERANCE = 15;

/**
 * Beyond oidc-provider's checks of a client assertion: it is for this issuer alone, and short-lived, so that what remembers its `jti` can forget.
 * @see RFC 7523 §3
 * @see draft-ietf-oauth-rfc7523bis §4
 */
export function checkClientAssertion(ctx: KoaContextWithOIDC, { aud, exp, iat }: Readonly<Record<string, unknown>>): void {
  if (aud !== ctx.oidc.issuer) throw new errors.InvalidClientAuth('aud of the client_assertion must be the issuer, as a single string');
  const now = Math.floor(Date.now() / 1000);
  const from = typeof iat === 'number' ? iat : now;
  if (from > now + TOLERANCE) throw new errors.InvalidClientAuth('the client_assertion was issued in the future');
  if (typeof exp !== 'number' || exp - Math.min(from, now) > MAX_LIFETIME + TOLERANCE) {
    throw new errors.InvalidClientAuth(`the client_assertion must expire within ${MAX_LIFETIME} seconds`);
  }
}
