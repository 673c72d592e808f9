/** Encryption of assertions: AES-GCM with a new content key, which is encrypted to the service provider. @see XML Encryption 1.1 §5.2.4, §5.5.2 */
import { constants, createCipheriv, createSecretKey, publicEncrypt, randomBytes } from 'node:crypto';
import { keysOf } from './certificates.js';
import { ns } from './namespaces.js';

const { saml: SAML, xenc: XENC, ds: DS } = ns;

/** Methods of data encryption, by their names here. */
export const methods = {
  'aes128-gcm': { algorithm: 'http://www.w3.org/2009/xmlenc11#aes128-gcm', cipher: 'aes-128-gcm', keyBytes: 16 },
  'aes256-gcm': { algorithm: 'http://www.w3.org/2009/xmlenc11#aes256-gcm', cipher: 'aes-256-gcm', keyBytes: 32 },
} as const;

/** Method by which the key of the data is encrypted. @see XML Encryption 1.1 §5.5.2 */
export const RSA_OAEP = `${XENC}rsa-oaep-mgf1p`;

/** @see XML Encryption 1.1 §5.2.4 */
const IV_BYTES = 12;

/**
 * Returns an `EncryptedAssertion` in canonical form, because the message around it may be signed.
 * @param assertion XML that declares its namespaces, because the service provider reads it alone after decryption
 * @param certificate DER in base64. Without a certificate, the function throws, so that an assertion is never sent in clear.
 */
export function encryptedAssertion(assertion: string, method: keyof typeof methods, certificate: string | undefined): string {
  const [publicKey] = keysOf(certificate === undefined ? [] : [certificate]);
  if (!publicKey) throw new TypeError('encryption without a certificate of the service provider');
  const { algorithm, cipher, keyBytes } = methods[method];
  const key = randomBytes(keyBytes);
  const iv = randomBytes(IV_BYTES);
  const aes = createCipheriv(cipher, createSecretKey(key), iv);
  const data = Buffer.concat([iv, aes.update(assertion, 'utf8'), aes.final(), aes.getAuthTag()]);
  // `rsa-oaep-mgf1p` uses SHA-1, and every service provider reads it. OAEP does not depend on the resistance of the hash to collisions.
  const wrapped = publicEncrypt({ key: publicKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha1' }, key);
  return (
    `<saml:EncryptedAssertion xmlns:saml="${SAML}"><xenc:EncryptedData xmlns:xenc="${XENC}" Type="${XENC}Element">` +
    `<xenc:EncryptionMethod Algorithm="${algorithm}"></xenc:EncryptionMethod><ds:KeyInfo xmlns:ds="${DS}"><xenc:EncryptedKey>` +
    `<xenc:EncryptionMethod Algorithm="${RSA_OAEP}"><ds:DigestMethod Algorithm="${DS}sha1"></ds:DigestMethod></xenc:EncryptionMethod>` +
    `<ds:KeyInfo><ds:X509Data><ds:X509Certificate>${certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>` +
    `<xenc:CipherData><xenc:CipherValue>${wrapped.toString('base64')}</xenc:CipherValue></xenc:CipherData></xenc:EncryptedKey></ds:KeyInfo>` +
    `<xenc:CipherData><xenc:CipherValue>${data.toString('base64')}</xenc:CipherValue></xenc:CipherData></xenc:EncryptedData></saml:EncryptedAssertion>`
  );
}
