import { hash } from 'node:crypto';

type Parameters = Readonly<Record<string, unknown>>;

/** @see RFC 7636 §4.1 */
const verifierPattern = /^[\w.~-]{43,128}$/;

/**
 * The challenge of method `plain`, which oidc-provider does not know, as that of S256: nothing after it differs. Undefined when there is none, or
 * it is no verifier.
 * @see RFC 7636 §4.2
 */
export function hashedPlainChallenge({
  code_challenge: challenge,
  code_challenge_method: method,
}: Parameters): Record<string, string> | undefined {
  if (method !== 'plain' || typeof challenge !== 'string' || !verifierPattern.test(challenge)) return undefined;
  return { code_challenge: hash('sha256', challenge, 'base64url'), code_challenge_method: 'S256' };
}

/** Whether the verifier is that of what a code was given for; without a challenge there must be none. @see RFC 7636 §4.6 */
export function isVerified(verifier: string | undefined, { codeChallenge, codeChallengeMethod }: Parameters): boolean {
  if (verifier === undefined || codeChallenge === undefined) return verifier === codeChallenge;
  return codeChallengeMethod === 'S256' && verifierPattern.test(verifier) && hash('sha256', verifier, 'base64url') === codeChallenge;
}
