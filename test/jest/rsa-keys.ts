/** Gives tests their RSA keys, because a new one costs a fifth of a second of CPU time. Keys of one process all differ. */
import crypto from 'node:crypto';
import { promisify } from 'node:util';
import { rsaPrimes } from './rsa-primes.js';

const { subtle } = crypto.webcrypto;
type RsaAlgorithm = crypto.webcrypto.RsaHashedKeyGenParams;

const BITS = 2048;
const EXPONENT = 65_537n;
const PUBLIC_USAGES: readonly string[] = ['encrypt', 'verify', 'wrapKey'];

const generateKeyPair = promisify(crypto.generateKeyPair);
const generateKey = subtle.generateKey.bind(subtle) as (...parameters: readonly unknown[]) => Promise<unknown>;

/** Number of keys: each prime with each of the primes that follow it, up to halfway around. */
export const KEYS = rsaPrimes.length * (rsaPrimes.length / 2 - 1);

const numberOf = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
const primeAt = (index: number): bigint => numberOf(Buffer.from(rsaPrimes[index % rsaPrimes.length] ?? '', 'base64url'));

function base64url(number: bigint): string {
  const hex = number.toString(16);
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url');
}

/** Returns the inverse of a number, by Euclid's algorithm. */
function inverse(number: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [number, modulus, 1n, 0n];
  while (b > 0n) [a, b, x, y] = [b, a % b, y, x - (a / b) * y];
  return ((x % modulus) + modulus) % modulus;
}

/** @see RFC 8017 §3.2 */
function keyOf(p: bigint, q: bigint): crypto.KeyPairKeyObjectResult {
  const d = inverse(EXPONENT, (p - 1n) * (q - 1n));
  const numbers = { n: p * q, e: EXPONENT, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) };
  const key = { kty: 'RSA', ...Object.fromEntries(Object.entries(numbers).map(([name, number]) => [name, base64url(number)])) };
  const privateKey = crypto.createPrivateKey({ key, format: 'jwk' });
  return { privateKey, publicKey: crypto.createPublicKey(privateKey) };
}

let next = 0;

function givePair(): crypto.KeyPairKeyObjectResult {
  const index = next++ % KEYS;
  return keyOf(primeAt(index), primeAt(index + 1 + Math.floor(index / rsaPrimes.length)));
}

/**
 * Replaces `generateKeyPair`, as promisified, and `subtle.generateKey` for RSA keys of 2048 bits.
 * @param first number of the first key, from 0.
 */
export function giveKeys(first: number): void {
  next = first;
  Object.defineProperty(crypto.generateKeyPair, promisify.custom, {
    configurable: true,
    value: async (type: 'rsa', options: crypto.RSAKeyPairKeyObjectOptions) =>
      type === 'rsa' && Object.keys(options).join() === 'modulusLength' && options.modulusLength === BITS
        ? givePair()
        : generateKeyPair(type, options),
  });
  Object.defineProperty(subtle, 'generateKey', {
    configurable: true,
    value: async (algorithm: RsaAlgorithm, extractable: boolean, usages: crypto.webcrypto.KeyUsage[]) =>
      algorithm.modulusLength === BITS && numberOf(algorithm.publicExponent) === EXPONENT
        ? cryptoKeys(givePair(), algorithm, extractable, usages)
        : generateKey(algorithm, extractable, usages),
  });
}

async function cryptoKeys(
  { publicKey, privateKey }: crypto.KeyPairKeyObjectResult,
  algorithm: RsaAlgorithm,
  isExtractable: boolean,
  usages: readonly crypto.webcrypto.KeyUsage[],
): Promise<crypto.webcrypto.CryptoKeyPair> {
  const ofPublic = usages.filter((usage) => PUBLIC_USAGES.includes(usage));
  const ofPrivate = usages.filter((usage) => !PUBLIC_USAGES.includes(usage));
  return {
    publicKey: await subtle.importKey('spki', publicKey.export({ type: 'spki', format: 'der' }), algorithm, true, ofPublic),
    privateKey: await subtle.importKey('pkcs8', privateKey.export({ type: 'pkcs8', format: 'der' }), algorithm, isExtractable, ofPrivate),
  };
}
