/** Answers of providers: the exchange of the code, the checks of the ID token, and the identity that the answer proves. */

import type { Configuration } from 'openid-client';
import type { ExtensionContext } from '../../../lib/extension-door.js';
import { mismatchIn, ownMember } from '../../../lib/extension-door.js';
import type { Connection, SentRequest } from '../records.js';
import { CLOCK_TOLERANCE_SECONDS, type OpenidClient, type Providers, whyUnfit } from './provider.js';
import { callbackPath } from './request.js';

export type Claims = Readonly<Record<string, unknown>>;

/** Kind of a refusal, for the page. The log has the reason. */
export type Refusal =
  | ('cancelled' | 'failed' | 'mixUp' | 'over' | 'unknown' | 'wrongTenant' | 'unverified' | 'taken' | 'unavailable')
  | ('unconfirmed' | 'addressMissing');

export class RefusedAnswer extends Error {
  constructor(
    readonly refusal: Refusal,
    readonly reason: string,
    cause?: unknown,
  ) {
    super(reason, { cause });
  }
}

/** Identity of a person at the provider. */
export interface Upstream {
  readonly subject: string;
  readonly claims: Claims;
  readonly amr: readonly string[];
  /** Time of the person's sign-in at the provider if the request had `max_age`, else of the answer. Milliseconds since the epoch. */
  readonly provenAt: number;
}

/** Exchanges the code of an answer, and returns the identity. @throws RefusedAnswer */
export async function readAnswer(
  { service: { url, own, now } }: Pick<ExtensionContext, 'service'>,
  providers: Providers,
  connection: Connection,
  request: SentRequest,
  parameters: URLSearchParams,
): Promise<Upstream> {
  const provider = await providers.get(connection).catch((error: unknown) => {
    throw new RefusedAnswer('failed', whyUnfit(error), error);
  });
  const answered = new URL(`${url(callbackPath(own, connection.id))}?${parameters}`);
  return provider.withLatestKeys((configuration) =>
    read(provider.client, configuration, connection, request, { url: answered, parameters, answeredAt: now() }),
  );
}

interface Answered {
  /** Redirect URI with the parameters of the answer. */
  readonly url: URL;
  readonly parameters: URLSearchParams;
  /** Milliseconds since the epoch. */
  readonly answeredAt: number;
}

async function read(
  client: OpenidClient,
  configuration: Configuration,
  connection: Connection,
  request: SentRequest,
  { url, parameters, answeredAt }: Answered,
): Promise<Upstream> {
  const checks = { pkceCodeVerifier: request.verifier, expectedState: parameters.get('state') ?? '', expectedNonce: request.nonce };
  const tokens = await client.authorizationCodeGrant(configuration, url, { ...checks, idTokenExpected: true }).catch(refuse(parameters));
  const idToken = tokens.claims();
  if (idToken === undefined) throw new RefusedAnswer('failed', 'the provider sent no ID token');
  const provenAt = provenAtOf(idToken, request, answeredAt);
  const claims = needsUserInfo(connection, idToken)
    ? { ...(await client.fetchUserInfo(configuration, tokens.access_token, idToken.sub).catch(refuse(parameters))), ...idToken }
    : idToken;
  const subject = ownMember(claims, connection.subjectClaim);
  if (typeof subject !== 'string' || subject === '' || subject.length > 1000)
    throw new RefusedAnswer('failed', `the claim ${connection.subjectClaim} is not a text of 1 to 1,000 characters`);
  // Other claims are cleaned. A subject is not, because two subjects could be the same after cleaning. openid-client decodes invalid UTF-8 as U+FFFD.
  if (/[\p{Cs}\ufffd]/u.test(subject))
    throw new RefusedAnswer(
      'failed',
      `the claim ${connection.subjectClaim} has characters that cannot be decoded. The provider must send UTF-8.`,
    );
  for (const { claim, value } of connection.requiredClaims)
    if (String(ownMember(claims, claim)) !== value)
      throw new RefusedAnswer('wrongTenant', `the claim ${claim} differs from requiredClaims of the connection`);
  return { subject, claims, amr: ['external', ...(isMultiFactor(connection, idToken) ? ['mfa'] : [])], provenAt };

  /** Returns whether the connection uses a claim that is missing in the ID token, and the provider has a userinfo endpoint. */
  function needsUserInfo({ mapping, subjectClaim, requiredClaims, requireVerifiedEmail }: Connection, idTokenClaims: Claims): boolean {
    const mapped = [...Object.values(mapping).map(({ claim }) => claim), subjectClaim, ...requiredClaims.map(({ claim }) => claim)];
    const all = [...mapped, ...(requireVerifiedEmail && mapping.email ? ['email_verified'] : [])];
    return (
      configuration.serverMetadata().userinfo_endpoint !== undefined && all.some((claim) => ownMember(idTokenClaims, claim) === undefined)
    );
  }
}

/** Errors of OAuth and of brokers after which the person did not sign in. @see RFC 6749 §4.1.2.1 */
const cancelled: ReadonlySet<string> = new Set(['access_denied', 'user_cancelled', 'interaction_required', 'login_required']);

/** Settings to compare if a claim of the ID token, or `iss` of the answer, differs from the connection. */
const settings: Readonly<Record<string, string>> = {
  aud: 'compare clientId of the connection with the client at the provider',
  azp: 'compare clientId of the connection with the client at the provider',
  iss: 'compare issuer of the connection with the one that the provider publishes',
  issuer: 'compare issuer of the connection with the one that the provider publishes',
};

/** Turns an error of `openid-client` into a refusal. The provider's own error counts only after `iss` and `state` were checked. */
const refuse =
  (parameters: URLSearchParams) =>
  (error: unknown): never => {
    const { code, cause } = error as { readonly code?: string; readonly cause?: unknown };
    if (code === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR' || (error as Error).name === 'AuthorizationResponseError') {
      const named = parameters.get('error') ?? '';
      throw new RefusedAnswer(cancelled.has(named) ? 'cancelled' : 'failed', `the provider answered ${named.slice(0, 100)}`, error);
    }
    const isIssuer = parameters.has('iss') && /"iss"/.test(`${(error as Error).message} ${(cause as Error | undefined)?.message ?? ''}`);
    const mismatch = mismatchIn(error);
    const hints = mismatch === undefined ? [] : [mismatch, settings[mismatch.split(':', 1)[0] ?? '']].filter(Boolean);
    const reason = ['the answer of the provider is invalid', ...hints].join('; ');
    throw new RefusedAnswer(isIssuer ? 'mixUp' : 'failed', reason, error);
  };

/** Returns the time of the sign-in. @throws RefusedAnswer if the request had `max_age`, and the provider does not confirm a recent sign-in */
function provenAtOf({ auth_time: authTime }: Claims, { sentAt, maxAge }: SentRequest, answeredAt: number): number {
  if (maxAge === undefined) return answeredAt;
  if (typeof authTime !== 'number') throw new RefusedAnswer('failed', 'the provider does not send auth_time');
  if (authTime < Math.floor(sentAt / 1000) - maxAge - CLOCK_TOLERANCE_SECONDS)
    throw new RefusedAnswer('failed', 'auth_time of the provider is older than the requested max_age');
  return Math.min(authTime * 1000, answeredAt);
}

function isMultiFactor({ mfa }: Connection, { amr, acr }: Claims): boolean {
  const used = Array.isArray(amr) ? amr.map(String) : [];
  return mfa.amr.some((one) => used.includes(one)) || (typeof acr === 'string' && mfa.acr.includes(acr));
}
