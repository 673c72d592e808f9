import { hash } from 'node:crypto';
import type { Context } from 'koa';
import { type Client, errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { Logger } from '../../logger.js';
import { createBounded } from '../../store/caches/bounded.js';
import type { Client as ClientRecord } from '../../store/records/records.js';
import type { OidcParts } from '../context.js';
import { clientOf } from './clients.js';

type Parameters = Readonly<Record<string, unknown>>;

/** Returns the problem of a verifier in the words of oidc-provider, because oidc-provider answers some requests itself. @see RFC 7636 §4.1 */
function problemOf(verifier: string): string | undefined {
  if (verifier.length < 43) return 'must be a string with a minimum length of 43 characters';
  if (verifier.length > 128) return 'must be a string with a maximum length of 128 characters';
  return /[^\w.~-]/.test(verifier) ? 'contains invalid characters' : undefined;
}

/** Maximum clients that a node remembers as logged. */
const MOST_LOGGED = 10_000;

/**
 * Creates the rule for requests for a code without a challenge. The rule refuses the request if PKCE is required, and names the parameter and the setting.
 *
 * The rule accepts all other requests. If a request has no `nonce` either, nothing binds the code to the browser that asked for it. Therefore the rule logs
 * such a client once. oidc-provider refuses a `nonce` without `openid`, so that a client with a `nonce` can compare it in the ID token.
 * @see RFC 9700 §2.1.1, §4.5.3.2
 */
export function createChallengeRule(logger: Logger): OidcParts['challengeRule'] {
  const logged = createBounded<true>({ max: MOST_LOGGED });
  return (ctx, client) => {
    requireChallenge(ctx, client);
    const { requirePkce } = clientOf(client) ?? {};
    if (requirePkce === undefined && !ctx.oidc.params?.nonce && !logged.has(client.clientId)) {
      logged.set(client.clientId, true);
      logger.info({ client: client.clientId }, UNPROTECTED);
    }
    return false;
  };
}

/** @throws InvalidRequest for a request for a code without a challenge, if PKCE is required. */
function requireChallenge({ oidc }: KoaContextWithOIDC, client: Client): void {
  const reason = reasonForChallenge(oidc, client);
  if (reason === undefined) return;
  throw new errors.InvalidRequest(
    `code_challenge is missing. Send code_challenge and code_challenge_method=S256 (PKCE), because ${reason}.`,
  );
}

/** Applies the rule to a request that began before PKCE became required for its client. @throws InvalidRequest */
export function checkResumed(ctx: KoaContextWithOIDC): void {
  const { route, params, client } = ctx.oidc;
  if (route !== 'resume' || !client || params?.code_challenge !== undefined) return;
  if (String(params?.response_type).split(' ').includes('code')) requireChallenge(ctx, client);
}

const UNPROTECTED =
  'The client requested a code with neither PKCE nor a nonce, so a thief could use a stolen code in another browser (RFC 9700 section 2.1.1). Turn on PKCE (S256) in the application, then set requirePkce: true in the record of the client.';

/**
 * Returns the setting that makes a challenge required; undefined if the request needs no challenge. The parameters of the request are final: a request
 * object is merged, and a pushed request is loaded.
 * @see RFC 9700 §2.1.1, RFC 8252 §6, FAPI 2.0 Security Profile §5.3.2.2, FAPI 1.0 Advanced §5.2.2
 */
function reasonForChallenge(oidc: KoaContextWithOIDC['oidc'] | undefined, client: Client): string | undefined {
  if (client.clientAuthMethod === 'none') return 'the client is public (token_endpoint_auth_method is none)';
  if (client.applicationType === 'native') return 'the client is native (application_type is native)';
  if (oidc?.isFapi('2.0')) return 'FAPI 2.0 applies to the client (fapi)';
  if (oidc?.route === 'pushed_authorization_request' && oidc.isFapi('1.0 Final'))
    return 'FAPI 1.0 applies to the client (features.fapi) and the request is pushed';
  return clientOf(client)?.requirePkce ? 'requirePkce is true for the client' : undefined;
}

/** @param isRefused whether the profile of the client refuses `plain` @throws InvalidRequest for the method `plain` of a client that can hash. */
export function checkPlainAllowed({ allowPlainPkce }: Pick<ClientRecord, 'allowPlainPkce'>, isRefused: boolean): void {
  if (isRefused) throw new errors.InvalidRequest('code_challenge_method is not S256. Send S256, because FAPI 2.0 applies to the client.');
  if (!allowPlainPkce) throw new errors.InvalidRequest('code_challenge_method is plain. Send S256, or set allowPlainPkce of the client.');
}

/**
 * Returns the S256 challenge of a `plain` challenge, so that all later steps are the same, because oidc-provider does not know `plain`. Undefined if the
 * challenge is missing or malformed.
 * @see RFC 7636 §4.2
 */
export function hashedPlainChallenge({
  code_challenge: challenge,
  code_challenge_method: method,
}: Parameters): Record<string, string> | undefined {
  if (method !== 'plain' || typeof challenge !== 'string' || problemOf(challenge) !== undefined) return undefined;
  return { code_challenge: hash('sha256', challenge, 'base64url'), code_challenge_method: 'S256' };
}

/**
 * Refuses a code without a challenge if PKCE is required for the client now. The client may have become public after the client asked for the code.
 * @throws InvalidGrant @see RFC 9700 §2.1.1
 */
function checkCodeHasChallenge(ctx: Context, client: Client, { codeChallenge }: Parameters): void {
  // Only requests that oidc-provider parsed have `oidc`. Where FAPI may apply, all requests do.
  const reason = codeChallenge === undefined ? reasonForChallenge((ctx as unknown as Partial<KoaContextWithOIDC>).oidc, client) : undefined;
  if (reason !== undefined)
    throw new errors.InvalidGrant(
      `The code was requested without code_challenge (PKCE). Send code_challenge with the request, because ${reason}.`,
    );
}

/** Members of a code that describe the request for it, because a later rule of its client may refuse the code. */
export interface CodeRequest {
  /** Whether the challenge was `plain`, which is stored as an S256 challenge. */
  readonly plainPkce?: true;
  readonly wasPushed?: true;
}

/** Refuses a code if its client may no longer make the request that asked for it. @throws InvalidGrant */
export function checkCodeRequest(
  ctx: Context,
  client: Client,
  { allowPlainPkce }: Pick<ClientRecord, 'allowPlainPkce'>,
  code: Parameters,
): void {
  checkCodeHasChallenge(ctx, client, code);
  const { plainPkce, wasPushed } = code as CodeRequest;
  if (plainPkce && !allowPlainPkce)
    throw new errors.InvalidGrant('The code was requested with code_challenge_method plain, which the client may not use now. Send S256.');
  if (client.requirePushedAuthorizationRequests && !wasPushed)
    throw new errors.InvalidGrant('The request for the code was not pushed, and the client must push its requests now. Push it (PAR).');
}

/**
 * Compares the verifier with the challenge of a code. Without a challenge, there must be no verifier.
 * @throws InvalidRequest for a malformed verifier, InvalidGrant for an invalid verifier.
 * @see RFC 7636 §4.6, RFC 9700 §4.8.2
 */
export function checkVerifier(verifier: string | undefined, { codeChallenge, codeChallengeMethod }: Parameters): void {
  const problem = verifier === undefined ? undefined : problemOf(verifier);
  if (problem !== undefined) throw new errors.InvalidRequest(`code_verifier ${problem}`);
  if (verifier === undefined && codeChallenge === undefined) return;
  if (codeChallengeMethod !== 'S256' || verifier === undefined || hash('sha256', verifier, 'base64url') !== codeChallenge)
    throw new errors.InvalidGrant('code_verifier does not match code_challenge');
}
