import { decodeJwt } from 'jose';
import type Provider from 'oidc-provider';
import { type Client, errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { ResolvedOptions } from '../../options/defaults.js';
import { lateRefusals } from '../artifacts/lost-writes.js';
import { perRequest } from '../artifacts/per-request.js';
import { useAssertion } from '../upstream/client.js';
import { endsWithin, isFromFuture, isPast, jwtProblem } from './jwts.js';

/** Maximum seconds for which a client assertion may be valid. */
const MAX_LIFETIME_SECONDS = 300;

/** Types of client assertions. A JWT of another type was made for another purpose. @see draft-ietf-oauth-rfc7523bis §4, RFC 8725 §3.11 */
const types = new Set<unknown>([undefined, 'JWT', 'client-authentication+jwt']);

/** The part of a request that decides which audiences its client assertion may have. Read the context after the client is known. */
type AssertionContext = Pick<KoaContextWithOIDC['oidc'], 'route' | 'isFapi'>;

/**
 * Returns the audiences that a client assertion may have at an endpoint. The URL of an endpoint needs an option, because audience injection uses it.
 * Clients of FAPI 2.0 send the issuer, whatever the option is.
 * @param paths by route, of the endpoints whose own URL is an audience there
 * @see CVE-2025-27370
 * @see RFC 9126 §2, CIBA Core §7.1, FAPI 2.0 Security Profile §5.3.2.1
 */
export function assertionAudiences(
  { issuer, assertionAudience }: ResolvedOptions,
  tokenPath: string,
  paths: ReadonlyMap<string, string>,
): (oidc: AssertionContext) => readonly string[] {
  if (assertionAudience === 'issuer') return () => [issuer];
  return (oidc) => {
    if (oidc.isFapi('2.0')) return [issuer];
    const path = paths.get(oidc.route);
    return [issuer, issuer + tokenPath, ...(path === undefined ? [] : [issuer + path])];
  };
}

/** Returns whether the client may send a list of audiences. A client of FAPI 1.0 may, if the option accepts the URLs of endpoints. */
export const mayListAudiences = ({ assertionAudience }: Pick<ResolvedOptions, 'assertionAudience'>, oidc: AssertionContext): boolean =>
  assertionAudience === 'token-endpoint' && oidc.isFapi('1.0 Final') !== undefined;

/**
 * Checks a client assertion beyond oidc-provider's checks. The audience has to be this service alone. The lifetime has to be short, so that the `jti` need
 * not be stored for long. The times are checked here, because oidc-provider compares them with the node's own clock.
 * @param mayBeList whether `aud` may be a list of strings, as {@link mayListAudiences} returns
 * @param now seconds since the epoch, by the time that all nodes share
 * @see RFC 7523 §3
 * @see draft-ietf-oauth-rfc7523bis §4
 */
export function checkClientAssertion(
  claims: Readonly<Record<string, unknown>>,
  header: Readonly<Record<string, unknown>>,
  { now, mayBeList }: { readonly now: number; readonly mayBeList: boolean },
): void {
  const { aud, exp, iat, nbf } = claims;
  const problem = jwtProblem(header, claims);
  if (problem) throw new errors.InvalidClientAuth(`the client_assertion ${problem}`);
  if (!types.has(header.typ)) throw new errors.InvalidClientAuth('typ of the client_assertion is of another kind of JWT');
  // oidc-provider has checked that `aud` is the right string, or a list with the right string.
  if (typeof aud !== 'string' && !mayBeList) throw new errors.InvalidClientAuth('aud of the client_assertion must be a single string');
  if (isFromFuture(iat, now)) throw new errors.InvalidClientAuth('the client_assertion was issued in the future');
  if (isFromFuture(nbf, now)) throw new errors.InvalidClientAuth('the client_assertion is not valid yet');
  if (isPast(exp, now)) throw new errors.InvalidClientAuth('the client_assertion has expired');
  if (!endsWithin(MAX_LIFETIME_SECONDS, exp, iat, now)) {
    throw new errors.InvalidClientAuth(`the client_assertion must expire within ${MAX_LIFETIME_SECONDS} seconds`);
  }
}

/** Returns the client that an assertion names, without verifying it. @see RFC 7523 §3 */
export function assertedClientId(assertion: string): string | undefined {
  try {
    const { sub } = decodeJwt(assertion) as { readonly sub?: unknown };
    return typeof sub === 'string' && sub !== '' ? sub : undefined;
  } catch {
    return undefined;
  }
}

/** An assertion in a request that oidc-provider does not answer. */
export interface PresentedAssertion {
  readonly ctx: object;
  readonly client: Client;
  /** Name of the endpoint, as oidc-provider names it. */
  readonly endpoint: string;
  readonly assertion: string;
}

/**
 * Returns whether an assertion authenticates its client, by oidc-provider's own check and {@link checkClientAssertion}. An assertion that authenticates its
 * client is used then. Any other assertion is unchanged, so that oidc-provider can refuse the assertion. FAPI does not apply to the client.
 */
export type AcceptAssertion = (presented: PresentedAssertion) => Promise<boolean>;

const refused = perRequest((): { refusal?: Error } => ({}));

/**
 * Throws the refusal of an assertion that {@link AcceptAssertion} refused in the same request, so that oidc-provider answers with the refusal and does not
 * verify the assertion a second time.
 */
export function repeatRefusal(ctx: object): void {
  const { refusal } = refused(ctx);
  if (refusal) throw refusal;
}

/** @param audiencesOf as {@link assertionAudiences} returns it */
export const createAcceptAssertion =
  (provider: () => Provider, audiencesOf: ReturnType<typeof assertionAudiences>): AcceptAssertion =>
  async ({ ctx, client, endpoint: route, assertion }) => {
    try {
      const oidc = { route, isFapi: () => undefined };
      await useAssertion(provider(), ctx, { ...oidc, client, assertion, audiences: audiencesOf(oidc) });
      return true;
    } catch (error) {
      if (!(error instanceof errors.OIDCProviderError)) throw error;
      // The store cannot tell of which JWT a concurrent request recorded the use first. Here it is always the assertion.
      refused(ctx).refusal = error instanceof errors.InvalidDpopProof ? lateRefusals.assertClient() : error;
      return false;
    }
  };
