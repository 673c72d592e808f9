/**
 * Certificates of service providers. Only the public key counts, because neither the issuer nor the dates state whose certificate it is. @see SAML V2.0
 * Metadata Interoperability Profile §2.6.1
 */
import { type KeyObject, X509Certificate } from 'node:crypto';

export interface ReadCertificate {
  /** DER in base64, without lines. */
  readonly certificate: string;
  readonly expiresAt: Date;
  readonly isRsa: boolean;
}

const curves: ReadonlySet<string | undefined> = new Set(['prime256v1', 'secp384r1', 'secp521r1']);
/** Bits of an RSA modulus. A larger key makes each verification slow. */
const LEAST_RSA = 2048;
const MOST_RSA = 8192;

const EXPECTED = 'an X.509 certificate, as PEM or DER in base64';
const armour = /-----BEGIN ([A-Z0-9 ]{1,40})-----([^-]*)-----END \1-----/g;
/** Labels of a certificate in PEM. In a trusted certificate, OpenSSL appends the purposes for which it trusts the certificate. @see RFC 7468 §5.1 */
const labels: ReadonlySet<string | undefined> = new Set(['CERTIFICATE', 'X509 CERTIFICATE', 'TRUSTED CERTIFICATE']);

/**
 * Returns the base64 of the one certificate in a text. Accepts text around it (`Bag Attributes`), invisible characters, and a certificate on one line with `\n`
 * in place of line ends.
 */
function base64In(text: string): { readonly base64: string } | string {
  const plain = text.replace(/\\r|\\n/g, '\n').replace(/[\u200b\u2060\ufeff]/g, '');
  if (!plain.includes('-----')) return { base64: plain.replace(/\s/g, '') };
  const blocks = [...plain.matchAll(armour)];
  const certificates = blocks.filter(([, label]) => labels.has(label));
  const [first, second] = certificates;
  if (second) return `one certificate; there are ${certificates.length}`;
  if (!first) return blocks[0] ? `${EXPECTED}; it is a ${blocks[0][1]}` : EXPECTED;
  return { base64: (first[2] ?? '').replace(/\s/g, '') };
}

/** Returns the first value of DER, without the bytes that follow it. @see X.690 §8.1.3 */
function firstValue(der: Buffer): Buffer {
  const length = der[1] ?? 0;
  const octets = length & 0x7f;
  const size =
    length < 0x80 ? 2 + length : 2 + octets + (octets > 0 && octets <= 4 && der.length > 2 + octets ? der.readUIntBE(2, octets) : 0);
  return der.subarray(0, size);
}

/** Reads a certificate. @param text PEM, or DER in base64. @returns what the text must be, if it is not an accepted certificate */
export function readCertificate(text: string): ReadCertificate | string {
  const read = base64In(text);
  if (typeof read === 'string') return read;
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(read.base64)) return EXPECTED;
  let certificate: X509Certificate;
  let key: KeyObject;
  try {
    certificate = new X509Certificate(firstValue(Buffer.from(read.base64, 'base64')));
    key = certificate.publicKey;
  } catch {
    return EXPECTED;
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
  // With the exponent 1, anybody can sign.
  if (publicExponent < 3n || publicExponent > 0xffff_ffffn || publicExponent % 2n === 0n)
    return 'a certificate with an RSA key whose exponent is odd, at least 3 and below 2^32';
  return undefined;
}

/** Returns when the certificates of a record expire. @param certificates DER in base64 */
export const expiriesOf = (certificates: readonly string[]): readonly Date[] =>
  certificates.flatMap((certificate) => {
    const read = readCertificate(certificate);
    return typeof read === 'string' ? [] : [read.expiresAt];
  });
