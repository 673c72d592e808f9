/** Keys with certificates for tests, each made once in a worker. */
import { createPrivateKey } from 'node:crypto';
import { createCertifiedKey, createSigner } from '../../../../extensions/saml/entities/certificate.js';
import type { Signer } from '../../../../extensions/saml/xml/sign.js';

export interface TestKey {
  /** The private key as PEM. */
  readonly key: string;
  /** The certificate as PEM. */
  readonly certificate: string;
  /** The certificate as DER in base64. */
  readonly der: string;
  readonly signer: Signer;
}

const made = new Map<string, Promise<TestKey>>();

export const pemOf = (der: string): string =>
  `-----BEGIN CERTIFICATE-----\n${(der.match(/.{1,64}/g) ?? []).join('\n')}\n-----END CERTIFICATE-----\n`;

async function make(name: string): Promise<TestKey> {
  const { key, certificate } = await createCertifiedKey(name, Date.now());
  return { key, certificate: pemOf(certificate), der: certificate, signer: createSigner(createPrivateKey(key), certificate) };
}

/** Returns the key of this name, the same one each time. */
export function testKeyOf(name: string): Promise<TestKey> {
  const key = made.get(name) ?? make(name);
  made.set(name, key);
  return key;
}
