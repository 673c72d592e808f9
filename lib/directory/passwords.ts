import { randomBytes, timingSafeEqual } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { IdpError } from '../errors.js';
import { type PasswordAlgorithmName, passwordAlgorithms, requireAlgorithm } from './password-algorithms.js';
import { formatPhc, parsePhc } from './phc.js';

/** Characters, after normalisation. */
export const PASSWORD_LENGTH = 128;

/** Hashes passwords, as many at once as there are processors. */
export interface Passwords {
  /** @returns a PHC string. @throws IdpError `busy` when too many wait. */
  hash(password: string): Promise<string>;
  /**
   * Costs one hash whatever it is given, so time does not tell whether there is a password.
   * @throws IdpError `busy` when too many wait.
   */
  verify(phc: string | undefined, password: string): Promise<boolean>;
  /** Whether the hash was made otherwise than a new one would be. */
  isOutdated(phc: string): boolean;
}

const SALT_BYTES = 16;
const HASH_BYTES = 32;
const MAX_WAITING = 64;

/** @throws ConfigError for `argon2id` where Node has no `crypto.argon2`. */
export function createPasswords(options: { readonly algorithm?: PasswordAlgorithmName } = {}): Passwords {
  const current = requireAlgorithm(options.algorithm ?? 'scrypt');
  const algorithms = passwordAlgorithms();
  const inTurn = createTurns(availableParallelism(), MAX_WAITING);
  const fresh = { algorithm: current.name, parameters: current.parameters };
  const dummy = { ...fresh, salt: randomBytes(SALT_BYTES), hash: randomBytes(HASH_BYTES) };

  return {
    async hash(password) {
      const salt = randomBytes(SALT_BYTES);
      const hash = await inTurn(() => current.compute(normalised(password), { ...fresh, salt }, HASH_BYTES));
      return formatPhc({ ...fresh, salt, hash });
    },

    async verify(phc, password) {
      const parsed = phc === undefined ? undefined : parsePhc(phc);
      const algorithm = parsed && algorithms.get(parsed.algorithm);
      const text = normalised(password);
      const possible = parsed !== undefined && algorithm !== undefined && [...text].length <= PASSWORD_LENGTH;
      const [expected, compute] = possible ? [parsed, algorithm.compute] : [dummy, current.compute];
      const actual = await inTurn(() => compute(possible ? text : '', expected, expected.hash.length));
      return timingSafeEqual(actual, expected.hash) && possible;
    },

    isOutdated(phc) {
      const parsed = parsePhc(phc);
      return parsed?.algorithm !== fresh.algorithm || parsed.parameters !== fresh.parameters;
    },
  };
}

/** @see NIST SP 800-63B-4 §3.1.1.2 */
export const normalised = (password: string): string => password.normalize('NFC');

/** Runs at most `places` tasks at once and lets at most `waiting` others wait. */
function createTurns(places: number, waiting: number) {
  const queue: (() => void)[] = [];
  let busy = 0;
  return async <T>(task: () => Promise<T>): Promise<T> => {
    if (busy < places) busy += 1;
    else if (queue.length < waiting) await new Promise<void>((resolve) => queue.push(resolve));
    else throw new IdpError('busy');
    try {
      return await task();
    } finally {
      const next = queue.shift();
      if (next) next();
      else busy -= 1;
    }
  };
}
