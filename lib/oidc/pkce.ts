import { hash } from 'node:crypto';

type Parameters = Readonly<Record<string, unknown>>;

/** @see RFC 7636 §4.1 */
const verifier = /^[\w.~-]{43,128}$/;

/**
 * The challenge of method `plain`, which oidc-provider does not know, as that of S256: nothing after it differs. Undefined when there is none, or
 * it is no verifier.
 * @see RFC 7636 §4.2
 */
export function hashedPlainChallenge({
  code_challenge: challenge,
  code_challenge_method: method,
}: Parameters): Record<string, string> | undefined {
  if (method !== 'plain' || typeof challenge !== 'string' || !verifier.test(challenge)) return undefined;
  return { code_challenge: hash('sha256', challenge, 'base64url'), code_challenge_method: 'S256' };
}
