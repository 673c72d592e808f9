import { hash } from 'node:crypto';
import { IdpError } from '../../errors.js';
import type { Credential, User } from '../../store/records/records.js';
import type { DirectoryContext } from '../context.js';
import type { FindPasswordProblem } from '../credentials/password-rules.js';
import type { Passwords } from '../credentials/passwords.js';
import { NO_USER } from '../identifiers.js';
import { newRecord } from '../input.js';
import { type Account, type Accounts, credentialOwner, isUsable, MAX_CREDENTIAL_OWNERS, notBeforeOf } from './accounts.js';
import type { AskedInSignIn } from './asked-in-sign-in.js';
import type { ChangePassword } from './password-changes.js';

/** Proof that a person is a user. The proof is valid until the credentials behind it change, or a cut-off invalidates sign-ins of its time. */
export interface Proof {
  /** Time of the proof, or of the cut-off of sign-ins if the cut-off is later. Milliseconds since the epoch. */
  readonly at: number;
  /** The owner of the credentials behind the proof, and the time of their last change. */
  readonly credentials: string;
  /** Mark of what the user asked for in a sign-in. The proof ends with that sign-in. Absent for a proof that signs in. */
  readonly askedIn?: string;
}

/** The credentials of a tenant's users, for code of the host. The admin API sets no credentials. @see service specification 4.12 */
export interface TenantCredentials {
  /**
   * Sets the user's own password and raises `UserPasswordChanged`. While the user is linked to a parent account, the password signs nobody
   * in. Sessions continue: call `signOutEverywhere` to end them.
   * @throws IdpError `not_found`; `invalid_record`, whose details name the `rule`, when the password is refused; `busy`.
   */
  setPassword(userId: string, password: string): Promise<void>;
}

/** The credentials of users, for sign-in code. No administrator reads or writes them. */
export interface Credentials {
  /** Returns the credentials of one tenant's users. */
  forTenant(tid: string): TenantCredentials;
  /** Returns the first rule that a new password breaks. @throws IdpError `busy` when the password could not be checked. */
  readonly problemOf: FindPasswordProblem;
  /** Hashes a password that is stored before its user is created. @throws IdpError as {@link setFirstPassword}. */
  hashFor(user: Pick<User, 'userName'>, password: string, from?: readonly string[]): Promise<string>;
  /** Makes a hash of {@link hashFor} the password of a user that is about to be created. @internal for registrations */
  setFirstHash(userId: string, passwordHash: string): Promise<void>;
  /** Returns whether the user has a password. The password of a parent account does not count. */
  isSet(userId: string): Promise<boolean>;
  /**
   * Sets the password of a user that is about to be created. {@link forget} undoes it.
   * @throws IdpError `invalid_record`, whose details name the rule; `busy`.
   */
  setFirstPassword(user: Pick<User, 'id' | 'userName'>, password: string, from?: readonly string[]): Promise<void>;
  /** Removes the password of a user that was not created, or an offered password that was not accepted. */
  forget(userId: string): Promise<void>;
  /**
   * Gives the user a password that was stored under a separate id, unless the user got another password after `since`. A second call changes
   * nothing.
   * @internal for invitations
   */
  takeOffer(id: string, userId: string, since: Date): Promise<void>;
  /** Sets a password without checking its rules, unless the user has this password already. For seeds of development. */
  seedPassword(userId: string, password: string): Promise<void>;
  /** Returns whether the password is the user's. @internal for seeds */
  hasPassword(userId: string, password: string): Promise<boolean>;
  /** Returns a digest that changes with the password. @internal for seeds */
  passwordDigest(userId: string): Promise<string | undefined>;
  /**
   * Returns the accounts that the password signs in. The password is compared with the credentials of at most three distinct owners.
   * @throws IdpError `busy`.
   */
  checkPassword(candidates: readonly Account[], password: string, attempt?: PasswordAttempt): Promise<readonly Account[]>;
  /**
   * Returns the proof for an account. Pass the account as it was read before the check of the credential.
   * @param at time of the proof, by the time that all nodes share. Pass the time of the check if the user waited or something was written since, because a
   * cut-off of that time must count. @default now
   */
  proofOf(account: Account, at?: Date): Promise<Proof>;
  /**
   * Returns whether a stored proof still counts for the account as it is now. A proof of `signIn.proofOf` counts only while its sign-in has not
   * ended.
   */
  holds(account: Account, proof: Proof): Promise<boolean>;
}

export interface PasswordAttempt {
  /**
   * Number of look-ups and hashes in one check. The number does not depend on the number of owners, so that the time of a check does not show
   * how many owners there are.
   * @default 1
   */
  readonly hashes?: number;
  /** Owners whose password counts as a mismatch, at the same cost. @default none */
  readonly locked?: ReadonlySet<string>;
  /** The address that sent the request, and the name in the request. Under load, requests with the same address or name wait for each other. */
  readonly from?: readonly string[];
}

export interface CredentialParts {
  readonly accounts: Accounts;
  readonly passwords: Passwords;
  readonly problemOf: FindPasswordProblem;
  readonly change: ChangePassword;
  readonly asked: AskedInSignIn;
}

interface Scope extends CredentialParts {
  readonly credentials: DirectoryContext['collections']['credentials'];
  readonly now: () => number;
}

export function createCredentials({ collections: { credentials }, now }: DirectoryContext, parts: CredentialParts): Credentials {
  const scope: Scope = { ...parts, credentials, now };
  const { passwords, problemOf } = parts;
  return {
    proofOf: (account, at) => proofOf(scope, account, at),
    async holds(account, proof) {
      const current = await proofOf(scope, account, new Date(proof.at));
      const isCurrent = isUsable(account) && current.at === proof.at && current.credentials === proof.credentials;
      return isCurrent && (proof.askedIn === undefined || parts.asked.goesOn(proof.askedIn));
    },
    forTenant: (tid) => ({ setPassword: (userId, password) => setPassword(scope, tid, userId, password) }),
    problemOf,
    hashFor: (user, password, from) => hashFor(scope, user, password, from),
    setFirstHash: (userId, passwordHash) => write(scope, userId, passwordHash),
    isSet: async (userId) => (await credentials.get(userId))?.passwordHash !== undefined,
    setFirstPassword: async (user, password, from) => write(scope, user.id, await hashFor(scope, user, password, from)),
    async forget(userId) {
      await credentials.remove(userId);
    },
    takeOffer: (id, userId, since) => takeOffer(scope, id, userId, since),
    async seedPassword(userId, password) {
      const row = await credentials.get(userId);
      if (row && (await isPassword(scope, row, password))) await renewIfOutdated(scope, row, password);
      else await write(scope, userId, await passwords.hash(password));
    },
    hasPassword: async (userId, password) => isPassword(scope, await credentials.get(userId), password),
    async passwordDigest(userId) {
      const passwordHash = (await credentials.get(userId))?.passwordHash;
      return passwordHash === undefined ? undefined : hash('sha256', passwordHash, 'base64url').slice(0, 22);
    },
    checkPassword: (candidates, password, attempt) => checkPassword(scope, candidates, password, attempt),
  };
}

async function proofOf({ credentials, now }: Scope, account: Account, at: Date = new Date(now())): Promise<Proof> {
  const owner = credentialOwner(account.person.user);
  const row = await credentials.get(owner);
  // A rehash keeps the password, so it does not update the row's time. An unreadable password may exist, so it is not treated as missing.
  const since = row?.updatedAt.getTime() ?? ((await credentials.unreadable(owner)) ? 'unreadable' : 'none');
  return { at: Math.max(at.getTime(), notBeforeOf(account)), credentials: `${owner} ${since}` };
}

async function hashFor(
  { passwords, problemOf }: Scope,
  { userName }: Pick<User, 'userName'>,
  password: string,
  from?: readonly string[],
): Promise<string> {
  const problem = await problemOf({ userName }, password);
  if (problem !== undefined) throw new IdpError('invalid_record', { path: '/password', ...problem });
  return passwords.hash(password, from);
}

async function setPassword(scope: Scope, tid: string, userId: string, password: string): Promise<void> {
  const account = await scope.accounts.findByOid(userId);
  if (account?.tenant.id !== tid) throw new IdpError('not_found');
  const passwordHash = await hashFor(scope, account.person.user, password);
  const isMade = await scope.change({ userId, passwordHash, endsSignIns: false, decide: (row) => row });
  if (!isMade) throw new IdpError('not_found');
}

async function write({ credentials, now }: Scope, userId: string, passwordHash: string): Promise<void> {
  await credentials.upsert(userId, (row) =>
    row ? { ...row, passwordHash, updatedAt: new Date(now()) } : newRecord(now, userId, { passwordHash }),
  );
}

/** Rehashes a password that has outdated parameters, unless another write came first or too many hashes wait. */
async function renewIfOutdated(
  { credentials, passwords }: Scope,
  { id, passwordHash: outdated }: Credential,
  password: string,
): Promise<void> {
  if (outdated === undefined || !passwords.isOutdated(outdated)) return;
  try {
    const passwordHash = await passwords.hash(password);
    await credentials.update(id, (row) => (row.passwordHash === outdated ? { ...row, passwordHash } : row));
  } catch (error) {
    if (!IdpError.is(error, 'busy')) throw error;
  }
}

async function isPassword({ passwords }: Scope, { passwordHash }: Partial<Credential> = {}, password: string): Promise<boolean> {
  return passwordHash !== undefined && (await passwords.verify([passwordHash], password))[0] === true;
}

async function takeOffer({ credentials, now }: Scope, id: string, userId: string, since: Date): Promise<void> {
  const passwordHash = (await credentials.get(id))?.passwordHash;
  if (passwordHash === undefined) return;
  await credentials.upsert(userId, (row) => {
    if (!row) return newRecord(now, userId, { passwordHash });
    return row.updatedAt > since || row.serial !== undefined ? row : { ...row, passwordHash, updatedAt: new Date(now()) };
  });
  await credentials.remove(id);
}

async function checkPassword(
  scope: Scope,
  candidates: readonly Account[],
  password: string,
  { hashes = 1, locked = nobody, from = [] }: PasswordAttempt = {},
): Promise<readonly Account[]> {
  const { credentials, passwords } = scope;
  const owners = [...new Set(candidates.map(({ person }) => credentialOwner(person.user)))].slice(0, MAX_CREDENTIAL_OWNERS);
  const tried = [...owners, ...Array<string>(Math.max(0, hashes - owners.length)).fill(NO_USER)];
  const rows = await Promise.all(tried.map((owner) => credentials.get(owner)));
  const hashesOf = rows.map((row) => row?.passwordHash);
  const matches = await passwords.verify(hashesOf, password, from);
  const fitting = new Set(owners.filter((owner, index) => matches[index] && !locked.has(owner)));
  await Promise.all(rows.map((row) => row && fitting.has(row.id) && renewIfOutdated(scope, row, password)));
  return candidates.filter(({ person }) => fitting.has(credentialOwner(person.user)));
}

const nobody: ReadonlySet<string> = new Set();
