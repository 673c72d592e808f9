import { hash } from 'node:crypto';
import { IdpError } from '../errors.js';
import type { Credential, User } from '../store/records.js';
import { type Account, type Accounts, credentialOwner, isUsable, MAX_CREDENTIAL_OWNERS, notBeforeOf } from './accounts.js';
import type { DirectoryContext } from './context.js';
import { userNameKey } from './identifiers.js';
import { newRecord } from './input.js';
import { normalised, PASSWORD_LENGTH, type Passwords } from './passwords.js';

/** That somebody proved to be a user. It holds until the credentials change that proved it, or a change voids the sign-ins of that time. */
export interface Proof {
  /** Milliseconds since the epoch: when the proof was given, or from when on sign-ins count if that is later. */
  readonly at: number;
  /** Whose credentials proved it, and since when they are what they are. */
  readonly credentials: string;
}

/** What signs users in. For sign-in code: no administrator reads or writes it. */
export interface Credentials {
  /**
   * Sets the user's own password, which signs nobody in while the user is linked to a parent. Sessions go on: after a reset, sign the user out
   * everywhere.
   * @throws IdpError `not_found`; `invalid_record`, whose details name the rule, when the password is refused.
   */
  setPassword(userId: string, password: string): Promise<void>;
  /**
   * Sets the password of a user that is about to be created. {@link forget} takes it back.
   * @throws IdpError `invalid_record`, whose details name the rule; `busy`.
   */
  setFirstPassword(user: Pick<User, 'id' | 'userName'>, password: string): Promise<void>;
  /** For a user that was not created after all. */
  forget(userId: string): Promise<void>;
  /** Sets a password that no rule was asked about, unless it is the user's already. For seeds of development. */
  seedPassword(userId: string, password: string): Promise<void>;
  /** @internal for seeds: whether it is the user's. */
  hasPassword(userId: string, password: string): Promise<boolean>;
  /** @internal for seeds: tells whether the password is still the one that it was. */
  passwordDigest(userId: string): Promise<string | undefined>;
  /**
   * Those of the accounts that the password signs in, tried against the credentials of at most three distinct owners, and one dummy when there is
   * none.
   * @throws IdpError `busy`.
   */
  checkPassword(candidates: readonly Account[], password: string): Promise<readonly Account[]>;
  /** The proof that was given for an account at a time; the account as it was read before the check. */
  proofOf(account: Account, at: Date): Promise<Proof>;
  /** Whether a proof that was kept meanwhile signs in to the account as it is now. */
  holds(account: Account, proof: Proof): Promise<boolean>;
}

/** Characters of a new password, at least: nothing else is asked for beside it. @see NIST SP 800-63B-4 §3.1.1.2 */
export const PASSWORD_MINIMUM = 15;

export function createCredentials(
  { collections: { credentials } }: DirectoryContext,
  accounts: Accounts,
  passwords: Passwords,
): Credentials {
  async function write(userId: string, passwordHash: string): Promise<void> {
    for (;;) {
      const written = await credentials.update(userId, (row) => ({ ...row, passwordHash, updatedAt: new Date() }));
      if (written) return;
      try {
        await credentials.insert(newRecord(userId, { passwordHash }));
        return;
      } catch (error) {
        if (!(error instanceof IdpError && error.code === 'conflict')) throw error;
      }
    }
  }

  /** Hashes anew what older parameters made, unless another write came between or there is too much to do right now. */
  async function renew({ id, passwordHash: outdated }: Credential, password: string): Promise<void> {
    try {
      const passwordHash = await passwords.hash(password);
      await credentials.update(id, (row) => (row.passwordHash === outdated ? { ...row, passwordHash } : row));
    } catch (error) {
      if (!(error instanceof IdpError && error.code === 'busy')) throw error;
    }
  }

  async function isPassword(userId: string | undefined, password: string): Promise<boolean> {
    const credential = userId === undefined ? undefined : await credentials.get(userId);
    const matches = await passwords.verify(credential?.passwordHash, password);
    if (matches && credential?.passwordHash !== undefined && passwords.isOutdated(credential.passwordHash)) {
      await renew(credential, password);
    }
    return matches;
  }

  const proofOf: Credentials['proofOf'] = async (account, at) => {
    const owner = credentialOwner(account.person.user);
    const row = await credentials.get(owner);
    // Passwords that are hashed anew stay the same password: that is no update of the row.
    const since = row?.updatedAt.getTime() ?? 'none';
    return { at: Math.max(at.getTime(), notBeforeOf(account)), credentials: `${owner} ${since}` };
  };

  return {
    proofOf,

    async holds(account, proof) {
      const now = await proofOf(account, new Date(proof.at));
      return isUsable(account) && now.at === proof.at && now.credentials === proof.credentials;
    },

    async setPassword(userId, password) {
      const account = await accounts.findByOid(userId);
      if (account === undefined) throw new IdpError('not_found');
      checkPassword(account.person.user.userName, password);
      await write(userId, await passwords.hash(password));
    },

    async setFirstPassword({ id, userName }, password) {
      checkPassword(userName, password);
      await write(id, await passwords.hash(password));
    },

    async forget(userId) {
      await credentials.remove(userId);
    },

    async seedPassword(userId, password) {
      if (!(await isPassword(userId, password))) await write(userId, await passwords.hash(password));
    },

    hasPassword: isPassword,

    async passwordDigest(userId) {
      const passwordHash = (await credentials.get(userId))?.passwordHash;
      return passwordHash === undefined ? undefined : hash('sha256', passwordHash, 'base64url').slice(0, 22);
    },

    async checkPassword(candidates, password) {
      const owners = [...new Set(candidates.map(({ person }) => credentialOwner(person.user)))];
      const tried = owners.length === 0 ? [undefined] : owners.slice(0, MAX_CREDENTIAL_OWNERS);
      const answers = await Promise.all(tried.map((owner) => isPassword(owner, password)));
      const fitting = new Set(tried.filter((_, index) => answers[index]));
      return candidates.filter(({ person }) => fitting.has(credentialOwner(person.user)));
    },
  };
}

function checkPassword(userName: string, password: string): void {
  const expected = expectedPassword(userName, password);
  if (expected !== undefined) throw new IdpError('invalid_record', { path: '/password', expected });
}

/** What a password has to be instead; undefined when it will do. */
export function expectedPassword(userName: string, password: string): string | undefined {
  const length = [...normalised(password)].length;
  if (length < PASSWORD_MINIMUM) return `at least ${PASSWORD_MINIMUM} characters`;
  if (length > PASSWORD_LENGTH) return `at most ${PASSWORD_LENGTH} characters`;
  return userNameKey(password) === userNameKey(userName) ? 'something other than the user name' : undefined;
}
