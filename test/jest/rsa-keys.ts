/** Gives a test file the RSA keys that those before it had, because a new one costs a tenth of a second of CPU time. Keys within a file all differ. */
import crypto from 'node:crypto';
import { promisify } from 'node:util';

const { subtle } = crypto.webcrypto;
type RsaAlgorithm = crypto.webcrypto.RsaHashedKeyGenParams;

const BITS = 2048;
const EXPONENT = Buffer.from([1, 0, 1]);
const PUBLIC_USAGES: readonly string[] = ['encrypt', 'verify', 'wrapKey'];

const generateKeyPair = promisify(crypto.generateKeyPair);
const generateKey = subtle.generateKey.bind(subtle) as (...parameters: readonly unknown[]) => Promise<unknown>;

const pairs: Promise<crypto.KeyPairKeyObjectResult>[] = [];
let given = 0;

async function givePair(): Promise<crypto.KeyPairKeyObjectResult> {
  const index = given++;
  pairs[index] ??= generateKeyPair('rsa', { modulusLength: BITS });
  return pairs[index];
}

/** Begins again with the first key. */
export function rewindKeys(): void {
  given = 0;
}

/** Replaces `generateKeyPair`, as promisified, and `subtle.generateKey` for RSA keys of 2048 bits. */
export function giveKeys(): void {
  Object.defineProperty(crypto.generateKeyPair, promisify.custom, {
    value: (type: 'rsa', options: crypto.RSAKeyPairKeyObjectOptions) =>
      type === 'rsa' && Object.keys(options).join() === 'modulusLength' && options.modulusLength === BITS
        ? givePair()
        : generateKeyPair(type, options),
  });
  Object.defineProperty(subtle, 'generateKey', {
    value: async (algorithm: RsaAlgorithm, extractable: boolean, usages: crypto.webcrypto.KeyUsage[]) =>
      algorithm.modulusLength === BITS && EXPONENT.equals(algorithm.publicExponent)
        ? cryptoKeys(await givePair(), algorithm, extractable, usages)
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
