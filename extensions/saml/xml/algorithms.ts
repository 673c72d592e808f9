/**
 * Algorithms of signatures: algorithms that the service uses, and algorithms that it accepts. No accepted algorithm uses SHA-1 or takes a public key as a
 * shared secret.
 */
import { createHash, type KeyObject, verify } from 'node:crypto';
import { ns } from './namespaces.js';

interface SignatureAlgorithm {
  readonly keyType: 'rsa' | 'ec';
  readonly hash: 'sha256' | 'sha384' | 'sha512';
}

const more = 'http://www.w3.org/2001/04/xmldsig-more#';
/** @see RFC 9231 §2.3.2 */
export const RSA_SHA256 = `${more}rsa-sha256`;
export const SHA256 = `${ns.xenc}sha256`;
export const ENVELOPED = `${ns.ds}enveloped-signature`;
export const EXCLUSIVE_C14N = 'http://www.w3.org/2001/10/xml-exc-c14n#';

/** A map, because a look-up in an object would find `constructor`. @see RFC 9231 §2.3 */
const signatureAlgorithms: ReadonlyMap<string, SignatureAlgorithm> = new Map([
  [RSA_SHA256, { keyType: 'rsa', hash: 'sha256' }],
  [`${more}rsa-sha384`, { keyType: 'rsa', hash: 'sha384' }],
  [`${more}rsa-sha512`, { keyType: 'rsa', hash: 'sha512' }],
  [`${more}ecdsa-sha256`, { keyType: 'ec', hash: 'sha256' }],
  [`${more}ecdsa-sha384`, { keyType: 'ec', hash: 'sha384' }],
  [`${more}ecdsa-sha512`, { keyType: 'ec', hash: 'sha512' }],
]);

export const isSignatureAlgorithm = (uri: string): boolean => signatureAlgorithms.has(uri);

/**
 * Encoding of the two numbers of an ECDSA signature. XML has them side by side. In URLs, Shibboleth writes ASN.1, and other products write the form of XML.
 * @see XML Signature 1.1 §6.4.3
 */
type EcForm = 'ieee-p1363' | 'der';

/** Returns whether one of the public keys verifies the signature. Public keys of another type than the algorithm's are ignored. */
export function isSignedByOne(uri: string, keys: readonly KeyObject[], data: string, signature: Buffer, forms: readonly EcForm[]): boolean {
  const algorithm = signatureAlgorithms.get(uri);
  if (!algorithm) return false;
  const { keyType, hash } = algorithm;
  const bytes = Buffer.from(data);
  const isBy = (key: KeyObject) =>
    keyType === 'rsa'
      ? verify(hash, bytes, key, signature)
      : forms.some((form) => verify(hash, bytes, { key, dsaEncoding: form }, signature));
  return keys.some((key) => key.asymmetricKeyType === keyType && isBy(key));
}

/** Digests in base64, by the URI of the algorithm. */
export const digests: ReadonlyMap<string, (data: string) => string> = new Map(
  Object.entries({
    [SHA256]: 'sha256',
    [`${more}sha384`]: 'sha384',
    [`${ns.xenc}sha512`]: 'sha512',
  }).map(([uri, hash]) => [uri, (data: string) => createHash(hash).update(data).digest('base64')]),
);
