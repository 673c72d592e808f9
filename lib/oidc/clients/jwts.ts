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
 * Whether the header of a JWT asks for extensions that its reader must understand. The service knows none, `b64` included, so it refuses all JWTs with `crit`.
 * This check is needed because the library that verifies signatures accepts `b64`.
 * @see RFC 7515 §4.1.11, RFC 7797 §7
 */
export const hasExtensions = (header: object): boolean => 'crit' in header;

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
