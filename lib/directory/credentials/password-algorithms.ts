import * as crypto from 'node:crypto';
import { promisify } from 'node:util';
import { ConfigError } from '../../errors.js';
import { type Phc, phcParameter } from './phc.js';

export type PasswordAlgorithmName = 'scrypt' | 'argon2id';

export interface PasswordAlgorithm {
  readonly name: PasswordAlgorithmName;
  /** Parameters of new hashes, in the form of a PHC string. */
  readonly parameters: string;
  readonly compute: (password: string, phc: Pick<Phc, 'parameters' | 'salt'>, length: number) => Promise<Buffer>;
}

type Scrypt = (password: Buffer, salt: Buffer, length: number, options: crypto.ScryptOptions) => Promise<Buffer>;
const scrypt = promisify(crypto.scrypt) as Scrypt;

/** A byte that no UTF-8 text contains. */
const END = Buffer.of(0xff);

/**
 * Returns the bytes that scrypt hashes. scrypt pads a password with zeros up to 64 bytes. So without an end mark, `secret` and `secret\0`
 * would have the same hash. Other passwords are hashed as they are.
 * @see RFC 7914 §6, RFC 2104 §2
 */
const padless = (password: string): Buffer =>
  password.endsWith('\0') ? Buffer.concat([Buffer.from(password), END]) : Buffer.from(password);

const scryptAlgorithm = (cost: number): PasswordAlgorithm => ({
  name: 'scrypt',
  parameters: `ln=${Math.log2(cost)},r=8,p=5`,
  compute(password, phc, length) {
    const [N, r, p] = [2 ** phcParameter(phc, 'ln'), phcParameter(phc, 'r'), phcParameter(phc, 'p')];
    return scrypt(padless(password), phc.salt, length, { N, r, p, maxmem: 256 * r * (N + p) });
  },
});

type Argon2 = (
  algorithm: 'argon2id',
  options: Readonly<Record<'message' | 'nonce', Buffer> & Record<'parallelism' | 'tagLength' | 'memory' | 'passes', number>>,
  done: (error: Error | null, hash: Buffer) => void,
) => void;

/** @see OWASP Password Storage Cheat Sheet, Argon2id */
const argon2idAlgorithm = (argon2: Argon2): PasswordAlgorithm => ({
  name: 'argon2id',
  parameters: 'v=19$m=19456,t=2,p=1',
  compute: (password, phc, tagLength) =>
    promisify(argon2)('argon2id', {
      message: Buffer.from(password),
      nonce: phc.salt,
      parallelism: phcParameter(phc, 'p'),
      tagLength,
      memory: phcParameter(phc, 'm'),
      passes: phcParameter(phc, 't'),
    }),
});

/** Returns the algorithms that this Node offers, by name. */
export function passwordAlgorithms(scryptCost: number): ReadonlyMap<string, PasswordAlgorithm> {
  const argon2 = Reflect.get(crypto, 'argon2') as Argon2 | undefined;
  const scrypt = scryptAlgorithm(scryptCost);
  const offered = argon2 ? [scrypt, argon2idAlgorithm(argon2)] : [scrypt];
  return new Map(offered.map((algorithm) => [algorithm.name, algorithm]));
}

/** @throws ConfigError if this Node does not have the algorithm, because other nodes would write hashes that this node cannot verify. */
export function requireAlgorithm(name: PasswordAlgorithmName, algorithms: ReturnType<typeof passwordAlgorithms>): PasswordAlgorithm {
  const algorithm = algorithms.get(name);
  if (algorithm) return algorithm;
  throw new ConfigError('invalid_options', [
    { path: 'passwords.algorithm', expected: "'scrypt', because this version of Node has no crypto.argon2", received: `'${name}'` },
  ]);
}
