import { errors } from 'oidc-provider';
import type { ResolvedOptions } from '../../options/defaults.js';
import { endsWithin, isFromFuture, isPast, jwtProblem } from './jwts.js';

/** Seconds a client assertion may be valid for. */
const MAX_LIFETIME_SECONDS = 300;

/** A JWT of any other says that it is something else. @see draft-ietf-oauth-rfc7523bis §4, RFC 8725 §3.11 */
const types = new Set<unknown>([undefined, 'JWT', 'client-authentication+jwt']);

/**
 * What a client assertion may be made for, by the endpoint that it comes to: an endpoint's URL as audience is what audience injection feeds on, so it takes
 * an option.
 * @see CVE-2025-27370
 * @see CIBA Core §7.1
 */
export function assertionAudiences(
  { issuer, assertionAudience }: ResolvedOptions,
  paths: { readonly token: string; readonly backchannel: string },
): (route: string) => readonly string[] {
  if (assertionAudience === 'issuer') return () => [issuer];
  const everywhere = [issuer, issuer + paths.token];
  return (route) => (route === 'backchannel_authentication' ? [...everywhere, issuer + paths.backchannel] : everywhere);
}

/**
 * Checks a client assertion beyond oidc-provider's checks: its audience is this service alone, and its lifetime is short, so that its `jti` need not be stored
 * for long. The times are checked here, because oidc-provider compares them with the node's own clock.
 * @param now seconds since the epoch, by the time that all nodes share
 * @see RFC 7523 §3
 * @see draft-ietf-oauth-rfc7523bis §4
 */
export function checkClientAssertion(
  claims: Readonly<Record<string, unknown>>,
  header: Readonly<Record<string, unknown>>,
  now: number,
): void {
  const { aud, exp, iat, nbf } = claims;
  const problem = jwtProblem(header, claims);
  if (problem) throw new errors.InvalidClientAuth(`the client_assertion ${problem}`);
  if (!types.has(header.typ)) throw new errors.InvalidClientAuth('typ of the client_assertion is of another kind of JWT');
  // Whether it is the right string oidc-provider has checked.
  if (typeof aud !== 'string') throw new errors.InvalidClientAuth('aud of the client_assertion must be a single string');
  if (isFromFuture(iat, now)) throw new errors.InvalidClientAuth('the client_assertion was issued in the future');
  if (isFromFuture(nbf, now)) throw new errors.InvalidClientAuth('the client_assertion is not valid yet');
  if (isPast(exp, now)) throw new errors.InvalidClientAuth('the client_assertion has expired');
  if (!endsWithin(MAX_LIFETIME_SECONDS, exp, iat, now)) {
    throw new errors.InvalidClientAuth(`the client_assertion must expire within ${MAX_LIFETIME_SECONDS} seconds`);
  }
}
