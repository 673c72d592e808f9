/** Signing keys and encryption keys of a service provider in its metadata. @see SAML Metadata §2.4.1.1 */

import { present } from '../../../lib/extension-door.js';
import { type ReadCertificate, readCertificate } from '../service-providers/certificates.js';
import type { ServiceProviderFields } from '../service-providers/records.js';
import { attribute, children, textOf } from '../xml/elements.js';
import { methods as encryptionMethods, RSA_OAEP } from '../xml/encrypt.js';
import { MalformedXml } from '../xml/malformed.js';
import { ns } from '../xml/namespaces.js';
import type { Reading } from './reading.js';

type Encryption = Pick<ServiceProviderFields, 'encryptionCertificate' | 'encryption'>;

interface Key {
  readonly path: string;
  /** Use of the key; absent for both uses. */
  readonly use?: 'signing' | 'encryption';
  readonly certificate: ReadCertificate | string;
  /** URIs of `EncryptionMethod`. */
  readonly methods: readonly string[];
}

const isForData = (method: string): boolean => /#(?:aes|tripledes|camellia|chacha)/.test(method) && !method.includes('kw');
const isForKeys = (method: string): boolean => /#rsa/.test(method);
const MOST_SIGNING = 10;

export function keysOf(reading: Reading, descriptor: Element, descriptorPath: string): readonly Key[] {
  return children(descriptor, ns.md, 'KeyDescriptor').flatMap((element, place) => {
    const path = `${descriptorPath}/KeyDescriptor[${place}]`;
    const use = attribute(element, 'use');
    if (use !== undefined && use !== 'signing' && use !== 'encryption') {
      reading.warn(`${path}/@use`, 'The key is left out, because its use is neither signing nor encryption.');
      return [];
    }
    const [text] = children(element, ns.ds, 'KeyInfo')
      .flatMap((info) => children(info, ns.ds, 'X509Data'))
      .flatMap((data) => children(data, ns.ds, 'X509Certificate'));
    const methods = children(element, ns.md, 'EncryptionMethod').map((method) => attribute(method, 'Algorithm') ?? '');
    const certificate = text === undefined ? 'a KeyInfo with an X509Certificate' : certificateIn(text);
    return [{ path, methods, certificate, ...present({ use }) }];
  });
}

function certificateIn(element: Element): ReadCertificate | string {
  try {
    return readCertificate(textOf(element));
  } catch (error) {
    if (error instanceof MalformedXml) return 'an X509Certificate with text';
    throw error;
  }
}

/**
 * Returns the certificates that verify messages. An unusable certificate is left out if a usable certificate remains, or if no message needs a signature.
 * @param isNeeded whether messages need a signature
 */
export function signingCertificates(reading: Reading, keys: readonly Key[], isNeeded: boolean): readonly string[] {
  const signing = keys.filter(({ use }) => use !== 'encryption');
  const certificates = new Set(
    signing.flatMap(({ certificate }) => (typeof certificate === 'string' ? [] : [certificate.certificate])).slice(0, MOST_SIGNING),
  );
  const unusable = signing.flatMap(({ path, certificate }) => (typeof certificate === 'string' ? [{ path, expected: certificate }] : []));
  reading.leftOut(unusable, certificates.size > 0 || !isNeeded);
  return [...certificates];
}

/** Returns the certificate for encryption. A key without a use is stored, but assertions are encrypted to it only if an administrator sets `encryption`. */
export function encryptionOf(reading: Reading, keys: readonly Key[]): Encryption {
  const candidates = [...keys.filter(({ use }) => use === 'encryption'), ...keys.filter(({ use }) => use === undefined)];
  for (const { path, use, certificate, methods } of candidates) {
    if (typeof certificate === 'string' || !certificate.isRsa) {
      if (use === 'encryption') reading.note(path, 'nothing is encrypted to it, because it is not a certificate with an RSA key');
      continue;
    }
    const { certificate: encryptionCertificate } = certificate;
    if (use === undefined) {
      reading.note(path, 'it does not say what it is for: assertions are encrypted to it once `encryption` says so');
      return { encryptionCertificate, encryption: 'none' };
    }
    const encryption = algorithmOf(methods);
    if (encryption === 'none') reading.note(path, 'nothing is encrypted, because it does not take AES-GCM with RSA-OAEP (rsa-oaep-mgf1p)');
    return { encryptionCertificate, encryption };
  }
  return { encryption: 'none' };
}

/** Returns the method of encryption. Without methods for data or for keys, any method is allowed. */
function algorithmOf(methods: readonly string[]): Encryption['encryption'] {
  if (methods.some(isForKeys) && !methods.includes(RSA_OAEP)) return 'none';
  if (!methods.some(isForData)) return 'aes256-gcm';
  return (['aes256-gcm', 'aes128-gcm'] as const).find((name) => methods.includes(encryptionMethods[name].algorithm)) ?? 'none';
}
