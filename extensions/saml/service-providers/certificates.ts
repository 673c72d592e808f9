/** Certificates of service providers, of which the key counts alone: neither issuer nor dates say whether it is theirs. @see SAML V2.0 Metadata Interoperability Profile §2.6.1 */
import { type KeyObject, X509Certificate } from 'node:crypto';

export interface ReadCertificate {
  /** DER in base64, without lines. */
  readonly certificate: string;
  readonly expiresAt: Date;
  readonly isRsa: boolean;
}

const curves: ReadonlySet<string | undefined> = new Set(['prime256v1', 'secp384r1', 'secp521r1']);
/** Bits of an RSA modulus: one that is larger makes each signature dear to verify. */
const LEAST_RSA = 2048;
const MOST_RSA = 8192;

/** @param text PEM, or DER in base64. @returns what it is to be instead, where it is none that is taken. */
export function readCertificate(text: string): ReadCertificate | string {
  const [, armoured = text] = /^\s*-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----\s*$/.exec(text) ?? [];
  const base64 = armoured.replace(/[\s\u200b\ufeff]/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return 'an X.509 certificate, as PEM or DER in base64';
  let certificate: X509Certificate;
  let key: KeyObject;
  try {
    certificate = new X509Certificate(Buffer.from(base64, 'base64'));
    key = certificate.publicKey;
  } catch {
    return 'an X.509 certificate, as PEM or DER in base64';
  }
  const problem = keyProblem(key);
  if (problem !== undefined) return problem;
  return {
    certificate: certificate.raw.toString('base64'),
    expiresAt: new Date(certificate.validTo),
    isRsa: key.asymmetricKeyType === 'rsa',
  };
}

function keyProblem({ asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject): string | undefined {
  const { modulusLength = 0, publicExponent = 0n, namedCurve } = asymmetricKeyDetails;
  if (asymmetricKeyType === 'ec' && curves.has(namedCurve)) return undefined;
  if (asymmetricKeyType !== 'rsa') return 'a certificate with an RSA key, or an EC key on P-256, P-384 or P-521';
  if (modulusLength < LEAST_RSA || modulusLength > MOST_RSA) return `a certificate with an RSA key of ${LEAST_RSA} to ${MOST_RSA} bits`;
  // With the exponent 1, everybody signs.
  if (publicExponent < 3n || publicExponent > 0xffff_ffffn || publicExponent % 2n === 0n)
    return 'a certificate with an RSA key whose exponent is odd, at least 3 and below 2^32';
  return undefined;
}

/** When the certificates of a record run out. @param certificates DER in base64 */
export const expiriesOf = (certificates: readonly string[]): readonly Date[] =>
  certificates.flatMap((certificate) => {
    const read = readCertificate(certificate);
    return typeof read === 'string' ? [] : [read.expiresAt];
  });
