/** Signing keys in the options, and their checks. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { ReportProblem } from '../../../lib/extension-door.js';
import type { Signer } from '../xml/sign.js';
import { createSigner } from './certificate.js';
import type { PublishedKey, SamlKeyPair } from './published-keys.js';

const SMALLEST_BITS = 2048;
/** Milliseconds that the clock of this node may be off. The time that all nodes share is unknown until the stores are open. */
const CLOCK_MS = 60_000;

const derOf = ({ raw }: X509Certificate): string => raw.toString('base64');

function privateKeyOf(pem: unknown): KeyObject | undefined {
  try {
    return createPrivateKey(pem as string);
  } catch {
    return undefined;
  }
}

function certificateOf(pem: unknown): X509Certificate | undefined {
  try {
    return typeof pem === 'string' ? new X509Certificate(pem) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the signing keys of the options. The first signing key signs. Metadata has all signing keys. The id of a signing key is the hash of its
 * certificate, because signing keys of the options have no row.
 */
export function givenKeys(pairs: readonly SamlKeyPair[]): { readonly keys: readonly PublishedKey[]; readonly signer: Signer } {
  const keys = pairs.map(({ certificate }, index): PublishedKey => {
    const read = new X509Certificate(certificate);
    const id = read.fingerprint256.replaceAll(':', '').toLowerCase();
    return { id, certificate: derOf(read), state: index === 0 ? 'active' : 'next' };
  });
  const [first] = pairs;
  const [active] = keys;
  if (!first || !active) throw new TypeError('no key is given');
  return { keys, signer: createSigner(createPrivateKey(first.key), active.certificate) };
}

/** Reports every invalid signing key. */
export function checkGivenKeys(pairs: unknown, report: ReportProblem): void {
  if (!Array.isArray(pairs) || pairs.length === 0) {
    report({ path: ['keys'], expected: 'a list of keys with their certificates, the one that signs first: [{ key, certificate }]' });
    return;
  }
  const fingerprints = new Set<string>();
  for (const [index, pair] of pairs.entries()) {
    const { key: keyPem, certificate: certificatePem } = (pair ?? {}) as Partial<SamlKeyPair>;
    const reportAt = (member: keyof SamlKeyPair, expected: string) => report({ path: ['keys', index, member], expected });
    const key = privateKeyOf(keyPem);
    const certificate = certificateOf(certificatePem);
    if (!key) reportAt('key', 'a private key as PEM, without a passphrase, such as the output of openssl genrsa 3072');
    else if (key.asymmetricKeyType !== 'rsa' || (key.asymmetricKeyDetails?.modulusLength ?? 0) < SMALLEST_BITS)
      reportAt('key', `an RSA key of ${SMALLEST_BITS} bits or more`);
    if (!certificate) {
      reportAt('certificate', 'an X.509 certificate as PEM: -----BEGIN CERTIFICATE-----');
      continue;
    }
    if (key && !certificate.checkPrivateKey(key))
      reportAt('certificate', 'the certificate of the key of this pair: make both from one key pair');
    if (Date.parse(certificate.validTo) < Date.now() - CLOCK_MS)
      reportAt('certificate', `a certificate that has not expired; this one ended ${certificate.validTo}`);
    if (index === 0 && Date.parse(certificate.validFrom) > Date.now() + CLOCK_MS)
      reportAt('certificate', `a certificate that is valid already, because the first key signs; this one begins ${certificate.validFrom}`);
    if (fingerprints.has(certificate.fingerprint256)) reportAt('certificate', 'a certificate that no earlier pair has: remove this pair');
    fingerprints.add(certificate.fingerprint256);
  }
}
