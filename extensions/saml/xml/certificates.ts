/** Public keys of registered certificates. */
import { type KeyObject, X509Certificate } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** Cache of public keys, because parsing a certificate takes longer than a verification. */
const keyCache = new LRUCache<string, { readonly key: KeyObject | undefined }>({ max: 1000 });

/**
 * Returns the public keys of certificates in base64. Only the public key counts, because the registration states that it belongs to the service provider.
 * @see SAML Metadata Interoperability Profile §2.6.1
 */
export const keysOf = (certificates: readonly string[]): KeyObject[] => certificates.flatMap((certificate) => keyOf(certificate) ?? []);

function keyOf(certificate: string): KeyObject | undefined {
  const cached = keyCache.get(certificate);
  if (cached) return cached.key;
  const key = readKey(certificate);
  keyCache.set(certificate, { key });
  return key;
}

function readKey(certificate: string): KeyObject | undefined {
  try {
    return new X509Certificate(Buffer.from(certificate, 'base64')).publicKey;
  } catch {
    return undefined;
  }
}
