/**
 * Passwords that signed-in users change or set themselves.
 *
 * A change counts only for the password that was compared before: if another change comes first, such as a reset or a change in another tab, the service
 * refuses the later change. The number of the password in the person's document decides, in the write that names the new password.
 */
import { IdpError } from '../../errors.js';
import type { Attribution } from '../../events.js';
import type { PersonWithUser, Voucher } from '../../store/records/records.js';
import { normalised } from '../../text/passwords.js';
import type { DirectoryContext } from '../context.js';
import { PASSWORD_MINIMUM } from '../credentials/password-rules.js';
import { PASSWORD } from '../tenants/sign-in-policy.js';
import { type Account, isUsable } from './accounts.js';
import type { Credentials } from './credentials.js';
import type { PasswordChanges } from './password-changes.js';

/**
 * `set`: the user has a password. `none`: the user may set a first password. `parent`: the credential of the parent account signs in. `policy`: the tenant
 * allows no passwords.
 */
export type OwnPasswordState = 'set' | 'none' | 'parent' | 'policy';

/** A change of the password of a user by that user. */
export interface OwnPasswordChange {
  /** The new password, unchanged as the user typed it. */
  readonly password: string;
  /** The current password, if the user has one. */
  readonly current: string | undefined;
  /** Name of the session that continues, with its grants, while all other sign-ins end. @default no sign-in ends */
  readonly spared?: string | undefined;
  /** Voucher of the sign-in in which the user changes the password. */
  readonly vouchedBy: Voucher | undefined;
  /** Actor of the change, for its events. */
  readonly by: Attribution;
  /** The address and the user name of the request. Under load, requests with the same address or name wait for each other. */
  readonly from?: readonly string[];
}

/** Own passwords of the users of all tenants. Pass each method the account as it was read before the first call. */
export interface OwnPasswords {
  /** Minimum characters of a password. */
  readonly length: number;
  /** Returns whether the user has a password, or may set one. Reads the store. */
  stateOf(account: Account): Promise<OwnPasswordState>;
  /** Returns whether the password is the user's current password. @throws IdpError `busy`. */
  isCurrent(account: Account, password: string, from?: readonly string[]): Promise<boolean>;
  /**
   * Changes the password after {@link isCurrent} returned true, or sets the first password. Returns false, and changes nothing, if the password was changed
   * since the account was read, or the user may have no password now.
   * @throws IdpError `invalid_record`, whose details name the `rule` that the password breaks, or the rule `same` for the current password; `busy`.
   */
  change(account: Account, change: OwnPasswordChange): Promise<boolean>;
}

interface Parts {
  readonly context: DirectoryContext;
  readonly credentials: Credentials;
  readonly changes: PasswordChanges;
}

/** Returns whether the account can have a password. A linked child account signs in by the password of its parent account. */
export const canHavePassword = (account: Account): boolean =>
  isUsable(account) && account.person.user.parentUserId === undefined && allowsPasswords(account);

const allowsPasswords = ({ tenant }: Account): boolean => tenant.signIn?.methods?.includes(PASSWORD) ?? true;

export const createOwnPasswords = (parts: Parts): OwnPasswords => ({
  length: PASSWORD_MINIMUM,
  stateOf: (account) => stateOf(parts, account),
  async isCurrent(account, password, from = []) {
    const { id, newPassword } = account.person.user;
    // Until an interrupted change is complete, the former password would still match.
    if (newPassword && (await parts.credentials.isSet(newPassword.credentialId))) await parts.changes.settle(id);
    return (await parts.credentials.checkPassword([account], password, { from })).length > 0;
  },
  change: (account, made) => change(parts, account, made),
});

/** Ends a reset link that was mailed before, because another person may have read the mail. */
const withoutResetLink = (row: PersonWithUser): PersonWithUser => {
  const { passwordReset } = row.user;
  if (!passwordReset || passwordReset.usedAt) return row;
  return { ...row, user: { ...row.user, passwordReset: { ...passwordReset, expiresAt: new Date(0) } } };
};

async function stateOf({ context, credentials }: Parts, account: Account): Promise<OwnPasswordState> {
  const { id, parentUserId, newPassword } = account.person.user;
  if (parentUserId !== undefined) return 'parent';
  if (!allowsPasswords(account)) return 'policy';
  if ((await credentials.isSet(id)) || (newPassword && (await credentials.isSet(newPassword.credentialId)))) return 'set';
  // An unreadable password may exist.
  return (await context.collections.credentials.unreadable(id)) ? 'set' : 'none';
}

async function change({ credentials, changes }: Parts, account: Account, made: OwnPasswordChange): Promise<boolean> {
  const { person, tenant } = account;
  const { password, current, spared, vouchedBy, by, from } = made;
  if (current !== undefined && normalised(password) === normalised(current))
    throw new IdpError('invalid_record', { path: '/password', rule: 'same', expected: 'another password than the current one' });
  const passwordHash = await credentials.hashFor(person.user, password, from);
  const serialOf = ({ user }: Account['person']): number => user.newPassword?.serial ?? 0;
  return changes.change({
    userId: person.user.id,
    passwordHash,
    endsSignIns: spared !== undefined,
    spared,
    by,
    vouchedBy: () => vouchedBy,
    decide: (row) => (serialOf(row) === serialOf(person) && canHavePassword({ person: row, tenant }) ? withoutResetLink(row) : undefined),
  });
}
