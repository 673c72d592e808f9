/** Keys that service providers sign with, each made once in a worker. */
import { createPublicKey, KeyObject } from 'node:crypto';
import { makeCertificate } from '../keys/certificates.js';

export interface Credentials {
  readonly key: KeyObject;
  readonly publicKey: KeyObject;
  /** DER in base64. */
  readonly certificate: string;
}

const made = new Map<string, Promise<Credentials>>();

/** Returns the key of this name, the same one each time. The certificate has expired, because only the key counts. */
export function credentialsOf(name: string, kind: 2048 | 'P-256' = 2048): Promise<Credentials> {
  const making = made.get(name) ?? make(kind);
  made.set(name, making);
  return making;
}

async function make(kind: 2048 | 'P-256'): Promise<Credentials> {
  const { der, privateKey } = await makeCertificate(kind, true);
  const key = KeyObject.from(privateKey);
  return { key, publicKey: createPublicKey(key), certificate: der };
}
