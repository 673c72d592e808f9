/** Rules of all JWTs that clients sign, or that are encrypted to clients. */

import { hashedKey } from '../../store/artifact-key.js';
import type { ArtifactStore } from '../../store/artifact-store.js';
import { MAX_APART_SECONDS } from '../../store/times/clock.js';

/** Algorithms of JWTs that clients sign. HMAC is missing, because secrets are stored as hashes, which cannot verify anything. */
export const clientAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'] as const;

/** Algorithms that encrypt to a key that the client published. @see RFC 7518 §4.1 */
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
 * - `crit` asks for extensions that the reader must understand. The service knows no extension, `b64` included. The check of `crit` is needed because the
 *   library that verifies signatures accepts `b64`.
 * - Halves of characters would become U+FFFD in stores and URLs. `jose` refuses bytes that are not UTF-8, but escapes of JSON can still make a half.
 * @see RFC 7515 §4.1.11, RFC 7797 §7, RFC 8259 §8.2
 */
export function jwtProblem(header: object, claims: object): string | undefined {
  if ('crit' in header) return 'has crit. Leave it out.';
  return [header, claims].every(isWellFormed) ? undefined : 'has unpaired surrogates. Write whole characters.';
}

/** Matches a surrogate without its partner in the text of JSON.stringify, which writes the surrogate as an escape, and a backslash as two backslashes. */
const halfCharacter = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;

function isWellFormed(value: object): boolean {
  const json = JSON.stringify(value);
  return !(json.includes('\\ud') && halfCharacter.test(json));
}

/**
 * Returns whether a JWT has one of the audiences: its `aud` is one of the audiences, or a list of strings with one of the audiences.
 * @see RFC 7519 §4.1.3
 */
export const isMeantFor = (audiences: readonly string[], aud: unknown): boolean => {
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return named.every((each) => typeof each === 'string') && audiences.some((audience) => named.includes(audience));
};

/** Maximum seconds by which a client's clock may differ. */
export const CLOCK_TOLERANCE_SECONDS = 15;

/** Returns whether a time is in the future. @param now seconds since the epoch, by the time that all nodes share */
export const isFromFuture = (time: unknown, now: number): boolean => typeof time === 'number' && time > now + CLOCK_TOLERANCE_SECONDS;

/** Returns whether the JWT has expired. @param now as for {@link isFromFuture} */
export const isPast = (exp: unknown, now: number): boolean => typeof exp === 'number' && exp <= now - CLOCK_TOLERANCE_SECONDS;

/**
 * Returns whether the JWT expires within a number of seconds after the JWT became valid.
 * @param from the `nbf` or `iat` of the JWT. A time after `now` counts as `now`.
 * @param now as for {@link isFromFuture}
 */
export const endsWithin = (seconds: number, exp: unknown, from: unknown, now: number): exp is number =>
  typeof exp === 'number' && exp - Math.min(typeof from === 'number' ? from : now, now) <= seconds + CLOCK_TOLERANCE_SECONDS;

/** JWTs that can be used once, by the name of the record of their use. */
type OneTimeJwt = 'LoginHint' | 'RequestObject';

/** Records the use of a JWT, for as long as any node may accept the JWT. Returns false if the JWT was used before. */
export async function useOnce(
  artifacts: ArtifactStore,
  kind: OneTimeJwt,
  { iss, jti, exp }: { readonly iss: string; readonly jti: string; readonly exp: number },
): Promise<boolean> {
  const key = hashedKey(kind, JSON.stringify([iss, jti]));
  const expiresAt = (exp + CLOCK_TOLERANCE_SECONDS + MAX_APART_SECONDS + 1) * 1000;
  return (await artifacts.commit([{ op: 'put', key, value: '', expiresAt, if: 'absent' }])).ok;
}
