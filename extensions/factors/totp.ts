/** Codes of an authenticator app. */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';

const PERIOD_SECONDS = 30;
/** Time steps that are accepted: the current, the previous and the next time step. @see RFC 6238 §5.2 */
const WINDOW = [0, -1, 1];
/** Bytes of a secret. @see RFC 4226 §4, R6 */
const SECRET_BYTES = 20;

/** Returns a new secret, in base32. */
export const newSecret = (): string => new Secret({ buffer: new Uint8Array(randomBytes(SECRET_BYTES)).buffer }).base32;

const totpOf = (secret: string, label = '', issuer = ''): TOTP =>
  new TOTP({ issuer, label, algorithm: 'SHA1', digits: 6, period: PERIOD_SECONDS, secret: Secret.fromBase32(secret) });

/** Returns the URI of the QR code. Colons are replaced, because a colon ends the name of the issuer. */
export const totpUri = (secret: string, userName: string, organisation: string): string =>
  totpOf(secret, userName.replaceAll(':', ' '), organisation.replaceAll(':', ' ')).toString();

/** Returns the time step of a code, near the time; undefined if the code is invalid. @see RFC 6238 §4 */
export function stepOf(secret: string, code: string, at: number): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined;
  const totp = totpOf(secret);
  const given = Buffer.from(code);
  const now = Math.floor(at / 1000 / PERIOD_SECONDS);
  const fitting = WINDOW.map((delta) => now + delta).filter((step) =>
    timingSafeEqual(Buffer.from(totp.generate({ timestamp: step * PERIOD_SECONDS * 1000 })), given),
  );
  return fitting[0];
}

/** Returns the secret in groups of four characters, which are easier to type. */
export const grouped = (secret: string): string => secret.replace(/(.{4})(?=.)/g, '$1 ');
