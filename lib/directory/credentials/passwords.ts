/**
 * Passwords and secrets: hashing, comparison and renewal.
 *
 * Algorithms of `password-algorithms` hash passwords to PHC strings (`phc`), and `hashing-queue` limits concurrent hashes. Secrets of clients and API
 * resources are random, so a plain digest is enough (`secrets`).
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { isTooLongPassword, normalised } from '../../text/passwords.js';
import { createHashingQueue } from './hashing-queue.js';
import { type PasswordAlgorithmName, passwordAlgorithms, requireAlgorithm } from './password-algorithms.js';
import { formatPhc, parsePhc } from './phc.js';

/** Hashes passwords: as many at the same time as there are processors. Further hashes wait in the queue. */
export interface Passwords {
  /**
   * Returns the hash as a PHC string.
   * @param from the address and the user name of the request. Requests with the same address or name wait for each other.
   * @throws IdpError `busy` if the request would wait too long.
   */
  hash(password: string, from?: readonly string[]): Promise<string>;
  /**
   * Compares the password with each hash. An absent hash costs as much as a present one, so that the time does not show whether there is a password.
   * @throws IdpError `busy` if the request would wait too long.
   */
  verify(phcs: readonly (string | undefined)[], password: string, from?: readonly string[]): Promise<readonly boolean[]>;
  /** Returns whether a new hash would have another algorithm or other parameters. */
  isOutdated(phc: string): boolean;
}

const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Maximum milliseconds that a sign-in waits in the queue before it is refused as `busy`. */
const LONGEST_WAIT_MS = 20_000;
/** Milliseconds of a hash, until some are measured. */
const HASH_MS = 300;

export interface PasswordsOptions {
  /** @default 'scrypt' */
  readonly algorithm?: PasswordAlgorithmName;
  /** N of scrypt, a power of two. @default 2 ** 14 @see OWASP Password Storage Cheat Sheet, scrypt */
  readonly scryptCost?: number;
}

/** @throws ConfigError for `argon2id` if Node has no `crypto.argon2`. */
export function createPasswords({ algorithm = 'scrypt', scryptCost = 2 ** 14 }: PasswordsOptions = {}): Passwords {
  const algorithms = passwordAlgorithms(scryptCost);
  const current = requireAlgorithm(algorithm, algorithms);
  const queue = createHashingQueue({ places: availableParallelism(), longestWaitMs: LONGEST_WAIT_MS, taskMs: HASH_MS });
  const fresh = { algorithm: current.name, parameters: current.parameters };
  const dummy = { ...fresh, salt: randomBytes(SALT_BYTES), hash: randomBytes(HASH_BYTES) };

  const verification = (phc: string | undefined, text: string) => async (): Promise<boolean> => {
    const parsed = phc === undefined ? undefined : parsePhc(phc);
    const algorithm = parsed && algorithms.get(parsed.algorithm);
    const possible = parsed !== undefined && algorithm !== undefined && !isTooLongPassword(text);
    const [expected, compute] = possible ? [parsed, algorithm.compute] : [dummy, current.compute];
    const actual = await compute(possible ? text : '', expected, expected.hash.length);
    return timingSafeEqual(actual, expected.hash) && possible;
  };

  return {
    async hash(password, from = []) {
      const salt = randomBytes(SALT_BYTES);
      const [hash] = await queue.run([() => current.compute(normalised(password), { ...fresh, salt }, HASH_BYTES)], from);
      return formatPhc({ ...fresh, salt, hash: hash as Buffer });
    },

    verify(phcs, password, from = []) {
      const text = normalised(password);
      return queue.run(
        phcs.map((phc) => verification(phc, text)),
        from,
      );
    },

    isOutdated(phc) {
      const parsed = parsePhc(phc);
      return parsed?.algorithm !== fresh.algorithm || parsed.parameters !== fresh.parameters;
    },
  };
}
