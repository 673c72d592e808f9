/** Public keys of clients: keys that the service can use, and sets of keys as products publish them. */

import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { IdpError } from '../../errors.js';
import type { Client } from '../../store/records/records.js';
import { authMethod, isObject, isSecretKey, type RecordProblem } from './client-metadata.js';

/** A part of client metadata that is ignored, or that is read in another spelling. */
export interface MetadataWarning {
  /** JSON Pointer of the part, as it was written. */
  readonly path: string;
  /** Reason, without the value. */
  readonly reason: string;
}

const MIN_RSA_BITS = 2048;
/** Maximum warnings in one answer. */
export const MOST_WARNINGS = 20;

/** Returns whether a JWK is public, and complete. Other JWKs of a set are ignored. @see RFC 7517 §5 */
export function isUsableKey(key: unknown): key is JsonWebKey {
  if (!isObject(key) || isSecretKey(key)) return false;
  const texts = [key.alg, key.kid, key.use];
  if (texts.some((text) => text !== undefined && (typeof text !== 'string' || text === ''))) return false;
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key: key as JsonWebKey, format: 'jwk' });
    return (asymmetricKeyDetails?.modulusLength ?? MIN_RSA_BITS) >= MIN_RSA_BITS;
  } catch {
    return false;
  }
}

/** Types of keys by the prefix of the algorithms that use them. @see RFC 7518 §3.1, §4.1 */
const typesByAlgorithm: readonly (readonly [algorithm: RegExp, types: readonly string[]])[] = [
  [/^(?:RS|PS)\d/, ['RSA']],
  [/^ES\d/, ['EC']],
  [/^EdDSA$|^Ed25519$/, ['OKP']],
  [/^RSA-/, ['RSA']],
  [/^ECDH-/, ['EC', 'OKP']],
];
const encrypted = /^(?:id_token|userinfo|introspection|authorization)_encrypted_response_alg$/;
const signed = /^(?:request_object|token_endpoint_auth|backchannel_authentication_request)_signing_alg$/;

/** Returns the member of the metadata that needs a JWK which the set does not have. */
function unmetNeed(metadata: Client['metadata'], keys: readonly JsonWebKey[]): string | undefined {
  const fits = (key: JsonWebKey, use: string, algorithm: unknown): boolean => {
    const types = typesByAlgorithm.find(([pattern]) => pattern.test(String(algorithm)))?.[1];
    return (key.use === undefined || key.use === use) && (types?.includes(String(key.kty)) ?? true);
  };
  const lacks = (use: string, algorithm?: unknown): boolean => !keys.some((key) => fits(key, use, algorithm));
  const method = authMethod(metadata);
  if ((method === 'private_key_jwt' || method === 'self_signed_tls_client_auth') && lacks('sig')) return 'token_endpoint_auth_method';
  return Object.keys(metadata).find((name) => {
    const algorithm = metadata[name];
    const use = encrypted.test(name) ? 'enc' : signed.test(name) ? 'sig' : undefined;
    return use !== undefined && typesByAlgorithm.some(([pattern]) => pattern.test(String(algorithm))) && lacks(use, algorithm);
  });
}

/**
 * Returns the JWKs of `jwks` that the service can use, with a warning for each other JWK. A malformed set, and a set with a secret, stay as
 * they are, so that the checks of a client refuse them.
 * @throws IdpError `invalid_record` if no usable JWK is left, or none for an authentication method or an algorithm that needs one.
 */
export function usableKeys(metadata: Client['metadata']): { readonly keys: unknown; readonly warnings: readonly MetadataWarning[] } {
  const { keys } = metadata.jwks as { readonly keys?: unknown };
  if (!Array.isArray(keys) || keys.some(isSecretKey)) return { keys, warnings: [] };
  const usable = keys.filter(isUsableKey);
  if (usable.length === keys.length) return { keys, warnings: [] };
  const paths = keys.flatMap((key, index) => (isUsableKey(key) ? [] : [`/metadata/jwks/keys/${index}`])).slice(0, MOST_WARNINGS);
  const need = unmetNeed(metadata, usable);
  if (usable.length === 0 || need !== undefined) {
    const reason = need === undefined ? 'no usable key is left' : `no usable key for ${need} is left`;
    const problems: readonly RecordProblem[] = paths.map((path) => ({ path, expected: `${expectedKey}, because ${reason}` }));
    throw new IdpError('invalid_record', { ...problems[0], problems });
  }
  return { keys: usable, warnings: paths.map((path) => ({ path, reason: `It is left out, because it is not ${expectedKey}.` })) };
}

const expectedKey = `a complete public key of a known type, for RSA of at least ${MIN_RSA_BITS} bits`;
