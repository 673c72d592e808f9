/** Keys and self-signed certificates of service providers. */
// The library below needs it before it loads.
import 'reflect-metadata';
import { KeyObject, webcrypto } from 'node:crypto';
import { X509CertificateGenerator } from '@peculiar/x509';

export interface Credentials {
  readonly key: KeyObject;
  readonly publicKey: KeyObject;
  /** DER in base64. */
  readonly certificate: string;
}

const made = new Map<string, Promise<Credentials>>();

/** The same for one name in all tests of a worker, because RSA keys take long to make. */
export function credentialsOf(name: string, kind: 'rsa' | 'P-256' | 'P-384' | 'P-521' = 'rsa'): Promise<Credentials> {
  const making = made.get(`${kind} ${name}`) ?? makeCredentials(name, kind);
  made.set(`${kind} ${name}`, making);
  return making;
}

async function makeCredentials(name: string, kind: string): Promise<Credentials> {
  const signingAlgorithm =
    kind === 'rsa'
      ? { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) }
      : { name: 'ECDSA', namedCurve: kind, hash: 'SHA-256' };
  const keys = (await webcrypto.subtle.generateKey(signingAlgorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      name: `CN=${name}`,
      // Long over: the key counts, and nothing else of the certificate.
      notBefore: new Date('2020-01-01'),
      notAfter: new Date('2021-01-01'),
      signingAlgorithm,
      keys: keys as never,
    },
    webcrypto as never,
  );
  return {
    key: KeyObject.from(keys.privateKey),
    publicKey: KeyObject.from(keys.publicKey),
    certificate: Buffer.from(certificate.rawData).toString('base64'),
  };
}
