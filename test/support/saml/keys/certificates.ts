/** Self-signed certificates, as service providers have them. */
// The certificate generator registers its parts with this package.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { X509CertificateGenerator } from '@peculiar/x509';

const day = 86_400_000;
const rsa = (modulusLength: number) => ({
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  publicExponent: new Uint8Array([1, 0, 1]),
  modulusLength,
});

export interface MadeCertificate {
  /** DER in base64, without lines. */
  readonly der: string;
  readonly pem: string;
  /** DER in base64, as metadata has it: in lines. */
  readonly lines: string;
  readonly privateKey: webcrypto.CryptoKey;
}

/** @param key bits of an RSA key, or a curve. @param isOver whether the certificate expired yesterday. */
export async function makeCertificate(key: 1024 | 2048 | 'P-256' | 'Ed25519' = 2048, isOver = false): Promise<MadeCertificate> {
  const algorithm =
    typeof key === 'number' ? rsa(key) : key === 'P-256' ? { name: 'ECDSA', namedCurve: key, hash: 'SHA-256' } : { name: key };
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
  const now = Date.now();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=sp.example',
    keys: keys as never,
    signingAlgorithm: algorithm as never,
    notBefore: new Date(now - 30 * day),
    notAfter: new Date(now + (isOver ? -day : 3650 * day)),
  });
  const der = Buffer.from(certificate.rawData).toString('base64');
  const lines = (der.match(/.{1,64}/g) ?? []).join('\n');
  return { der, lines, pem: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`, privateKey: keys.privateKey };
}
