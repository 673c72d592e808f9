/** The service provider's signing key and its certificate, both new at each start. */
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { cryptoProvider, X509CertificateGenerator } from '@peculiar/x509';

export interface Keys {
  /** The private key as PEM. The certificate is PEM too. */
  readonly privateKey: string;
  readonly certificate: string;
}

const DAY_MS = 86_400_000;

export async function createKeys(name: string): Promise<Keys> {
  const crypto = webcrypto as Crypto;
  cryptoProvider.set(crypto);
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) };
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + 365 * DAY_MS),
  });
  const pkcs8 = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  return {
    privateKey: `-----BEGIN PRIVATE KEY-----\n${pkcs8.replace(/.{64}/g, '$&\n')}\n-----END PRIVATE KEY-----\n`,
    certificate: certificate.toString('pem'),
  };
}
