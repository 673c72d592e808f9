/** Signing keys and their self-signed certificates. Node reads X.509 but cannot write it, so the optional peer `@peculiar/x509` writes certificates. */
import { KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto';
import { createRequire } from 'node:module';
import type { Signer } from '../xml/sign.js';

/** Optional peers. `reflect-metadata` is a polyfill that must load before `@peculiar/x509`. */
const PEERS = ['@peculiar/x509', 'reflect-metadata'];
const ALGORITHM = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) };
const YEARS = 10;
/** Milliseconds that a certificate is valid before its creation, because the clocks of service providers may be behind. */
const EARLY_MS = 3_600_000;
/** @see RFC 5280 appendix A.1, ub-common-name */
const LONGEST_NAME = 64;

/** Returns the packages that are missing to create a signing key. */
export function missingPeers(): readonly string[] {
  const { resolve } = createRequire(import.meta.url);
  return PEERS.filter((peer) => {
    try {
      resolve(peer);
      return false;
    } catch {
      return true;
    }
  });
}

export interface CertifiedKey {
  /** PKCS #8 as PEM. */
  readonly key: string;
  /** DER in base64, without lines. */
  readonly certificate: string;
}

/** Creates an RSA signing key of 2048 bits, and its certificate for ten years. @param name name of the subject @param now milliseconds since the epoch */
export async function createCertifiedKey(name: string, now: number): Promise<CertifiedKey> {
  if (!('getMetadata' in Reflect)) await import('reflect-metadata');
  const { KeyUsageFlags, KeyUsagesExtension, SubjectKeyIdentifierExtension, X509CertificateGenerator } = await import('@peculiar/x509');
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const until = new Date(now);
  until.setUTCFullYear(until.getUTCFullYear() + YEARS);
  // The serial number is positive, and without zeros at its start, which DER would remove. @see RFC 5280 §4.1.2.2
  const serialNumber = `4${randomBytes(16).toString('hex').slice(1)}`;
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber,
    name: [{ CN: [name.slice(0, LONGEST_NAME)] }],
    notBefore: new Date(now - EARLY_MS),
    notAfter: until,
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true), await SubjectKeyIdentifierExtension.create(keys.publicKey)],
  });
  return {
    key: KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }) as string,
    certificate: Buffer.from(certificate.rawData).toString('base64'),
  };
}

/** Parses a certificate. @param certificate DER in base64 */
export const x509Of = (certificate: string): X509Certificate => new X509Certificate(Buffer.from(certificate, 'base64'));

/** Creates a signer. @param key a parsed private RSA key, because each signature would parse a PEM again */
export const createSigner = (key: KeyObject, certificate: string): Signer => ({
  certificate,
  sign: (data) => sign('sha256', Buffer.from(data), key).toString('base64'),
});
