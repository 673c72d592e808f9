import { hash } from 'node:crypto';
import { type Client, errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { Client as ClientRecord } from '../../store/records/records.js';
import { clientOf } from './clients.js';

type Parameters = Readonly<Record<string, unknown>>;

/** What is wrong with a verifier, in the words of oidc-provider, which answers for some services by itself. @see RFC 7636 §4.1 */
function problemOf(verifier: string): string | undefined {
  if (verifier.length < 43) return 'must be a string with a minimum length of 43 characters';
  if (verifier.length > 128) return 'must be a string with a maximum length of 128 characters';
  return /[^\w.~-]/.test(verifier) ? 'contains invalid characters' : undefined;
}

/**
 * Whether a request for a code is refused without a challenge. Its parameters are final: a request object is merged, a pushed request loaded.
 * Unset in the client's record, a `nonce` will do: the client compares it in the ID token that the code is redeemed for.
 * @see RFC 9700 §2.1.1, §4.5.3.2, RFC 8252 §6, FAPI 2.0 Security Profile §5.3.2.2, FAPI 1.0 Advanced §5.2.2
 */
export function requiresChallenge({ oidc }: KoaContextWithOIDC, client: Client): boolean {
  const record = clientOf(client);
  if (!record || client.clientAuthMethod === 'none' || client.applicationType === 'native') return true;
  const isPushed = oidc.route === 'pushed_authorization_request';
  if (oidc.isFapi('2.0') || (isPushed && oidc.isFapi('1.0 Final'))) return true;
  if (record.requirePkce === false) return false;
  const { scope, nonce } = oidc.params ?? {};
  return record.requirePkce !== undefined || !nonce || !String(scope).split(' ').includes('openid');
}

/** @throws InvalidRequest for the method `plain` of a client that can hash. */
export function checkPlainAllowed({ allowPlainPkce }: Pick<ClientRecord, 'allowPlainPkce'>): void {
  if (!allowPlainPkce) throw new errors.InvalidRequest('this client may not use code_challenge_method plain');
}

/**
 * The challenge of method `plain`, which oidc-provider does not know, as that of S256: nothing after it differs. Undefined when there is none, or
 * it is no verifier.
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
 * Compares the verifier with the challenge of what a code was given for; without a challenge there must be none.
 * @throws InvalidRequest for what is no verifier, InvalidGrant for another one.
 * @see RFC 7636 §4.6, RFC 9700 §4.8.2
 */
export function checkVerifier(verifier: string | undefined, { codeChallenge, codeChallengeMethod }: Parameters): void {
  const problem = verifier === undefined ? undefined : problemOf(verifier);
  if (problem !== undefined) throw new errors.InvalidRequest(`code_verifier ${problem}`);
  if (verifier === undefined && codeChallenge === undefined) return;
  if (codeChallengeMethod !== 'S256' || verifier === undefined || hash('sha256', verifier, 'base64url') !== codeChallenge)
    throw new errors.InvalidGrant('code_verifier does not match code_challenge');
}
