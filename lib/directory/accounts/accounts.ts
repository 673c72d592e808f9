/**
 * Accounts: a user together with the person and the tenant, as sign-in and the protocol see them.
 *
 * Here are how accounts are found (`find-accounts`, `candidates`), linked accounts, their credentials and self-registration, and the cut-off that
 * invalidates sign-ins. `linking` proves at its top that no order of steps breaks a family. `privileges` says which callers may become which person.
 */

import type { ExternalIdentity, Group, PersonWithUser, Subsidiary, Tenant } from '../../store/records/records.js';
import { isNameOf } from '../identifiers.js';

/** Someone who can sign in: a user, in a tenant. */
export interface Account {
  readonly person: PersonWithUser;
  readonly tenant: Tenant;
  /** The part of the tenant's policy that nothing here can meet, for the log. While it is set, nobody can sign in to the tenant. */
  readonly unmetPolicy?: string;
  /** The parent account of a linked account, whose credentials sign it in. Absent if the parent cannot be read; then the child is not usable. */
  readonly owner?: Account;
}

export interface Narrowed {
  /** @default all tenants */
  readonly tids?: readonly string[] | undefined;
  /** What the person calls their organisation: the name or number of a tenant or a subsidiary. @default whichever */
  readonly organisation?: string | undefined;
  /** Those whose tenants allow this sign-in method. @default whichever */
  readonly method?: string | undefined;
  /**
   * Whether the name of a parent account in another tenant means the linked account in one of {@link tids}. In each tenant, an account with the name comes
   * first, except a self-made one. Of two linked accounts, the name means the one whose parent stands better for it, or none.
   * @default false
   */
  readonly isParentNameAllowed?: boolean;
}

/** Accounts of all tenants, for sign-in and protocol code, which learn the tenant from the account. All other code goes through a tenant. */
export interface Accounts {
  /** The account of an `oid`, usable or not. */
  findByOid(oid: string): Promise<Account | undefined>;
  /** The usable accounts that a user id means: for a parent's, which its children share as `sub`, the whole family. */
  named(id: string): Promise<readonly Account[]>;
  /** All accounts that share the person's `sub`, itself included, usable or not. */
  family(person: PersonWithUser): Promise<readonly Account[]>;
  /** All accounts that an external identity was recorded for, in whatever tenants, usable or not. */
  ofIdentity(identity: ExternalIdentity): Promise<readonly Account[]>;
  /** Whether an external identity was recorded for a user whose record cannot be read. Nobody else is to get it then. */
  isIdentityHidden(identity: ExternalIdentity): Promise<boolean>;
  /** A user name as names are compared. */
  nameKey(userName: string): string;
  /** Usable accounts with this user name, of at most three credential owners: first those that are verified, or that others made for them. */
  candidates(userName: string, narrowed?: Narrowed): Promise<readonly Account[]>;
  /** Usable accounts of persons with this e-mail address, whoever else has it. Of more than one, at least two. */
  withEmail(email: string, tids: readonly string[] | undefined): Promise<readonly Account[]>;
  /** Those of these `oid`s alone. */
  candidatesAmong(oids: readonly string[], userName: string, narrowed?: Narrowed): Promise<readonly Account[]>;
  /** A promise only if it is not at hand. */
  subsidiary(person: PersonWithUser): Subsidiary | undefined | Promise<Subsidiary | undefined>;
  /** The groups of the user that still exist, with the permissions that still exist; a promise only if they are not at hand. The same array, until one changes, for all who have the same. */
  groups(person: PersonWithUser): readonly Group[] | Promise<readonly Group[]>;
  /**
   * The same groups with all permissions that their records name, missing ones too. Decides what protects a user, because a permission whose record is lost may be
   * restored.
   */
  storedGroups(person: PersonWithUser): readonly Group[] | Promise<readonly Group[]>;
  /** Where mail about the account goes: an address that nobody proved does not take the place of one that was proven. */
  emailOf(person: PersonWithUser): string | undefined;
  /** The address that the person proved last; undefined where none was. */
  provenEmailOf(person: PersonWithUser): string | undefined;
}

/** The subject identifier of a sign-in now. A grant keeps the one it was made with. */
export const subOf = (user: PersonWithUser['user']): string => user.parentUserId ?? user.id;

/** Whose credentials sign the user in: while linked, the parent's. */
export const credentialOwner = ({ id, parentUserId }: PersonWithUser['user']): string => parentUserId ?? id;

/**
 * Returns the claim `email_verified`: whether the address is verified, and is the user name. A renamed user keeps
 * `emailVerified` in the record, so the member alone is not the claim.
 * @see service specification, claims
 * @example
 * ```ts
 * import { defineClaims, isEmailVerified } from 'tenant-idp/extension';
 *
 * export const mailable = defineClaims({
 *   name: 'mailable',
 *   claims: {
 *     mailable: { scope: 'email', type: 'boolean', description: 'Whether mail arrives', value: ({ person }) => isEmailVerified(person) },
 *   },
 * });
 * ```
 */
export const isEmailVerified = ({ email, user }: PersonWithUser): boolean => user.emailVerified && isNameOf(user, email);

/**
 * Whether a tenant's administrator recorded the identity for the account, and the person has not said yet that the account is theirs. A sign-in method of the
 * instance lets such an identity open the account only in a request that is held to the account's tenant, with `heldTo`.
 * @example
 * ```ts
 * import { type Account, type Interaction, isClaimed } from 'tenant-idp/extension';
 *
 * export function mayOpen(account: Account, subject: string, { tids }: Interaction): boolean {
 *   const isHeld = tids?.length === 1 && tids[0] === account.tenant.id;
 *   return isHeld || !isClaimed(account, { idp: 'partner', subject });
 * }
 * ```
 */
export const isClaimed = ({ person: { user } }: Account, { idp, subject }: ExternalIdentity): boolean =>
  user.externalIdentities.some(
    (one) => one.idp === idp && one.subject === subject && one.vouchedBy?.by === 'tenant' && !one.isAcknowledged,
  );

/**
 * Whether the account may sign in, or continue a sign-in of `loginAt`. A sign-in rests on the owner of its credential, so the account, the owner and the tenants
 * of both must be active.
 * @param owner the `owner` of the sign-in. @default the user whose credentials sign in to the account now
 * @param session the name of its session, which a cut-off may have spared. @default none
 * @example
 * ```ts
 * import { type ExtensionContext, isUsable } from 'tenant-idp/extension';
 *
 * export async function mayGoOn({ directory }: ExtensionContext, oid: string, since: Date): Promise<boolean> {
 *   const account = await directory.accounts.findByOid(oid);
 *   return account !== undefined && isUsable(account, since);
 * }
 * ```
 */
export const isUsable = (account: Account, loginAt?: Date, owner?: string, session?: string): boolean => {
  const basis = basisOf(account, owner);
  return basis.isWhole && basis.accounts.every((each) => !isEnded(each, loginAt, session) && each.unmetPolicy === undefined);
};

/**
 * Whether a sign-in of `loginAt` has ended for good. A policy that nothing meets ends no sign-in, because an administrator may change it back. An unreadable
 * owner ends no sign-in either.
 */
export const isVoid = (account: Account, loginAt?: Date, owner?: string, session?: string): boolean =>
  basisOf(account, owner).accounts.some((each) => isEnded(each, loginAt, session));

/** Whether a request that waits for the account since `at` has ended for good. A cut-off that spares a session ends sign-ins, but no waiting request. */
export const isWaitOver = (account: Account, since: Date | undefined): boolean =>
  isVoid(account, since, undefined, (account.owner ?? account).person.user.spared?.session);

/** The time of the first sign-in that counts, in milliseconds since the epoch. */
export const notBeforeOf = (account: Account, owner?: string): number =>
  Math.max(...basisOf(account, owner).accounts.map((each) => ownNotBefore(each)));

/** The accounts that a sign-in rests on. Not whole if the owner of its credential is neither the account nor its readable parent. */
function basisOf(
  account: Account,
  owner = credentialOwner(account.person.user),
): { readonly accounts: readonly Account[]; readonly isWhole: boolean } {
  if (owner === account.person.user.id) return { accounts: [account], isWhole: true };
  const parent = account.owner?.person.user.id === owner ? account.owner : undefined;
  return parent ? { accounts: [account, parent], isWhole: true } : { accounts: [account], isWhole: false };
}

const isEnded = (account: Account, loginAt: Date | undefined, session: string | undefined): boolean =>
  account.person.user.status !== 'active' ||
  account.tenant.status !== 'active' ||
  (loginAt !== undefined && ownNotBefore(account, isSpared(account, session)) > loginAt.getTime());

/** Whether the last cut-off of the user spared this session. */
const isSpared = ({ person: { user } }: Account, session: string | undefined): boolean =>
  session !== undefined && user.spared?.session === session && user.spared.notBefore.getTime() === user.notBefore?.getTime();

const ownNotBefore = ({ person: { user }, tenant }: Account, isSpared = false): number =>
  Math.max((isSpared ? user.spared?.before : user.notBefore)?.getTime() ?? 0, tenant.notBefore?.getTime() ?? 0);

/** Distinct credentials that a password is tried against. */
export const MAX_CREDENTIAL_OWNERS = 3;
