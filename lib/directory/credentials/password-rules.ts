/** Rules for new passwords. @see NIST SP 800-63B-4 §3.1.1.2 */
import { IdpError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { normalised, PASSWORD_LENGTH } from '../../text/passwords.js';
import { withTimeLimit } from '../../times/time-limit.js';
import { userNameKey } from '../identifiers.js';

/** Minimum characters of a new password. Nothing else is required, unless the options do. */
export const PASSWORD_MINIMUM = 15;

/** The user of the password. */
export interface PasswordOwner {
  readonly userName: string;
}

/** Passwords that nobody may choose: a list, whatever their case; or a function that returns true for one. */
export type RefusedPasswords = readonly string[] | ((password: string, owner: PasswordOwner) => boolean | Promise<boolean>);

/** `weak`: too easy to guess. `leaked`: known from a leak. */
export type PasswordRule = 'length' | 'userName' | 'weak' | 'leaked';

/** The rule that a password breaks. */
export interface PasswordProblem {
  readonly rule: PasswordRule;
  readonly expected: string;
}

/**
 * Returns the first rule that a password breaks; undefined for an acceptable password. @throws IdpError `busy` if a function of the options did not answer.
 */
export type FindPasswordProblem = (owner: PasswordOwner, password: string) => Promise<PasswordProblem | undefined>;

export interface PasswordRulesOptions {
  readonly weak?: RefusedPasswords | undefined;
  readonly leaked?: RefusedPasswords | undefined;
}

/** Maximum milliseconds of a function of the options. */
const TIMEOUT_MS = 5_000;
/** Seconds after which a retry makes sense. */
const RETRY_SECONDS = 5;

export function createPasswordRules({ weak, leaked }: PasswordRulesOptions, logger: Logger): FindPasswordProblem {
  const isWeak = checkOf(weak);
  const isLeaked = checkOf(leaked);

  async function asked(rule: 'weak' | 'leaked', answer: () => boolean | Promise<boolean>): Promise<boolean> {
    try {
      return await withTimeLimit(TIMEOUT_MS, answer);
    } catch (error) {
      // The message of the error could contain the password.
      logger.error(
        { option: `passwords.${rule}`, name: error instanceof Error ? error.name : typeof error },
        'the service could not check a password, because a function of the host failed',
      );
      throw new IdpError('busy', { retryAfterSeconds: RETRY_SECONDS });
    }
  }

  return async (owner, given) => {
    const password = normalised(given);
    const length = [...password].length;
    if (length < PASSWORD_MINIMUM) return { rule: 'length', expected: `at least ${PASSWORD_MINIMUM} characters` };
    if (length > PASSWORD_LENGTH) return { rule: 'length', expected: `at most ${PASSWORD_LENGTH} characters` };
    if (userNameKey(password) === userNameKey(owner.userName)) return { rule: 'userName', expected: 'something other than the user name' };
    if (await asked('weak', () => isWeak(password, owner))) return { rule: 'weak', expected: 'something that is harder to guess' };
    if (await asked('leaked', () => isLeaked(password, owner)))
      return { rule: 'leaked', expected: 'something that is on no list of leaked passwords' };
    return undefined;
  };
}

function checkOf(refused: RefusedPasswords | undefined): Exclude<RefusedPasswords, readonly string[]> {
  if (refused === undefined) return () => false;
  if (typeof refused === 'function') return refused;
  const keys = new Set(refused.map(userNameKey));
  return (password) => keys.has(userNameKey(password));
}
