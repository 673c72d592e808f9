/** What is the same of all JWTs that clients sign, or that are encrypted to them. */

import { hashedKey } from '../../store/artifact-key.js';
import type { ArtifactStore } from '../../store/artifact-store.js';
import { MAX_APART_SECONDS } from '../../store/times/clock.js';

/** Secrets are kept as hashes, which nothing can be verified by. */
export const clientAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'] as const;

/** To a key that the client published. @see RFC 7518 §4.1 */
export const encryptionAlgorithms = [
  'RSA-OAEP',
  'RSA-OAEP-256',
  'RSA-OAEP-384',
  'RSA-OAEP-512',
  'ECDH-ES',
  'ECDH-ES+A128KW',
  'ECDH-ES+A192KW',
  'ECDH-ES+A256KW',
] as const;

/**
 * Returns why the service reads no JWT of this header and these claims, also if its signature is valid.
 *
 * - `crit` asks for extensions that the reader must understand. The service knows none, `b64` included. This check is needed because the library that verifies
 *   signatures accepts `b64`.
 * - Halves of characters would become U+FFFD in stores and URLs. `jose` refuses bytes that are not UTF-8, but escapes of JSON can still make a half.
 * @see RFC 7515 §4.1.11, RFC 7797 §7, RFC 8259 §8.2
 */
export function jwtProblem(header: object, claims: object): string | undefined {
  if ('crit' in header) return 'has crit: leave it out';
  return [header, claims].every(isWellFormed) ? undefined : 'has unpaired surrogates: write whole characters';
}

/** JSON.stringify writes a half of a character as an escape, and a backslash as two. */
const halfCharacter = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;

function isWellFormed(value: object): boolean {
  const json = JSON.stringify(value);
  return !(json.includes('\\ud') && halfCharacter.test(json));
}

/**
 * Whether a JWT is meant for one of the audiences: its `aud` is one of them, or a list of strings that has one of them.
 * @see RFC 7519 §4.1.3
 */
export const isMeantFor = (audiences: readonly string[], aud: unknown): boolean => {
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return named.every((each) => typeof each === 'string') && audiences.some((audience) => named.includes(audience));
};

/** Seconds that a client's clock may be off. */
export const CLOCK_TOLERANCE_SECONDS = 15;

/** Whether a time is still to come. @param now seconds since the epoch, by the time that all nodes share */
export const isFromFuture = (time: unknown, now: number): boolean => typeof time === 'number' && time > now + CLOCK_TOLERANCE_SECONDS;

/** Whether the JWT has expired. @param now as {@link isFromFuture} has it */
export const isPast = (exp: unknown, now: number): boolean => typeof exp === 'number' && exp <= now - CLOCK_TOLERANCE_SECONDS;

/**
 * Whether the JWT expires within a number of seconds after it became valid.
 * @param from the `nbf` or `iat` of the JWT. A time after `now` counts as `now`.
 * @param now as {@link isFromFuture} has it
 */
export const endsWithin = (seconds: number, exp: unknown, from: unknown, now: number): exp is number =>
  typeof exp === 'number' && exp - Math.min(typeof from === 'number' ? from : now, now) <= seconds + CLOCK_TOLERANCE_SECONDS;

/** JWTs that count once, by the name of the record that says so. */
type OneTimeJwt = 'LoginHint' | 'RequestObject';

/** Counts a JWT as used, for as long as it may be valid on any node; false where it was before. */
export async function useOnce(
  artifacts: ArtifactStore,
  kind: OneTimeJwt,
  { iss, jti, exp }: { readonly iss: string; readonly jti: string; readonly exp: number },
): Promise<boolean> {
  const key = hashedKey(kind, JSON.stringify([iss, jti]));
  const expiresAt = (exp + CLOCK_TOLERANCE_SECONDS + MAX_APART_SECONDS + 1) * 1000;
  return (await artifacts.commit([{ op: 'put', key, value: '', expiresAt, if: 'absent' }])).ok;
}
