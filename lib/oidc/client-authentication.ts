import { errors, type KoaContextWithOIDC } from 'oidc-provider';

const authenticated = new Set(['token', 'introspection', 'revocation', 'pushed_authorization_request', 'backchannel_authentication']);

/**
 * A request in which no client names itself, which oidc-provider would call malformed.
 * @throws InvalidClientAuth
 * @see RFC 6749 §5.2, `invalid_client`: no client authentication included
 */
export function requireClientAuthentication(ctx: KoaContextWithOIDC): void {
  const { route, body, issuer } = ctx.oidc;
  if (!authenticated.has(route) || !body) return;
  const { authorization, 'oauth-client-attestation': attestation } = ctx.headers;
  if ([authorization, attestation, body.client_id, body.client_secret, body.client_assertion].some(Boolean)) return;
  // @see RFC 9110 §15.5.2
  ctx.set('WWW-Authenticate', `Basic realm="${issuer}"`);
  throw new errors.InvalidClientAuth('no client authentication included');
}
