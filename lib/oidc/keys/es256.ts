/**
 * ES256 with keys as Node's crypto signs and verifies fastest: a bare `KeyObject`, and signatures in DER. Node 24 copies the key at each call that names
 * `dsaEncoding`, which doubles the time of a signature. JWS has the two numbers of a signature side by side, so this file converts.
 * @see RFC 7518 §3.4, RFC 3279 §2.2.3
 */
import { type KeyObject, sign, verify } from 'node:crypto';

/** Bytes of each number of a signature on P-256. */
const NUMBER_BYTES = 32;
const SEQUENCE = 0x30;
const INTEGER = 0x02;

/** Returns the signature over the data in the form of JWS. The function is synchronous, because a thread of the pool would need longer. */
export const signEs256 = (data: Buffer, privateKey: KeyObject): Buffer => sideBySide(sign('sha256', data, privateKey));

/** Returns whether the key made the signature, in the form of JWS, over the data. */
export const verifyEs256 = (data: Buffer, publicKey: KeyObject, signature: Uint8Array): boolean =>
  signature.length === 2 * NUMBER_BYTES && verify('sha256', data, publicKey, inDer(signature));

/** Converts a signature of P-256 from DER, in which all lengths are one byte: no signature is longer than 72 bytes. */
export function sideBySide(der: Uint8Array): Buffer {
  const numbers = Buffer.alloc(2 * NUMBER_BYTES);
  const [, , , first = 0] = der;
  const second = der[5 + first] ?? 0;
  place(der.subarray(4, 4 + first), numbers, NUMBER_BYTES);
  place(der.subarray(6 + first, 6 + first + second), numbers, 2 * NUMBER_BYTES);
  return numbers;
}

/** Writes a number so that it ends at an index. DER starts a number with a zero byte if its first bit is set, and leaves out its other leading zeros. */
function place(integer: Uint8Array, numbers: Buffer, end: number): void {
  const digits = integer.length > NUMBER_BYTES ? integer.subarray(integer.length - NUMBER_BYTES) : integer;
  numbers.set(digits, end - digits.length);
}

/** Converts a signature of P-256 to DER. */
export function inDer(numbers: Uint8Array): Buffer {
  const [first, second] = [integerOf(numbers.subarray(0, NUMBER_BYTES)), integerOf(numbers.subarray(NUMBER_BYTES))];
  return Buffer.from([SEQUENCE, first.length + second.length, ...first, ...second]);
}

function integerOf(digits: Uint8Array): readonly number[] {
  const start = digits.findIndex((digit) => digit !== 0);
  const kept = start < 0 ? [0] : [...digits.subarray(start)];
  const isNegative = (kept[0] ?? 0) > 0x7f;
  return [INTEGER, kept.length + (isNegative ? 1 : 0), ...(isNegative ? [0] : []), ...kept];
}
