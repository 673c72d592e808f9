/**
 * Accounts: a user with its person and its tenant, as sign-in and the protocol see them.
 *
 * The folder holds the look-ups (`find-accounts`, `candidates`), account links, credentials, self-registration, and the cut-off that
 * invalidates sign-ins. The comment at the top of `linking` proves that no order of steps breaks a set of linked accounts. `privileges`
 * decides which callers may do something that could let a user sign in as the person.
 */

import type { Awaitable } from '../../awaitable.js';
import type { ExternalIdentity, Group, PersonWithUser, Subsidiary, Tenant } from '../../store/records/records.js';
import { isNameOf } from '../identifiers.js';

/** A user with its person, in a tenant. An account is what signs in. */
export interface Account {
  readonly person: PersonWithUser;
  readonly tenant: Tenant;
  /**
   * The part of the tenant's policy that no sign-in method here can meet, for the log. While it is set, nobody can sign in to the tenant.
   */
  readonly unmetPolicy?: string;
  /**
   * The parent account of a linked account, whose credentials sign it in. Absent if the parent account cannot be read; then the child account
   * is not usable.
   */
  readonly owner?: Account;
}

export interface Narrowed {
  /** @default all tenants */
  readonly tids?: readonly string[] | undefined;
  /** The organisation as the person entered it: the name or number of a tenant or a subsidiary. @default any */
  readonly organisation?: string | undefined;
  /** Limits the result to tenants that allow this sign-in method. @default any */
  readonly method?: string | undefined;
  /**
   * Whether the name of a parent account in another tenant means the linked account in one of {@link tids}. In each tenant, an account with
   * the name itself comes first, unless it is self-registered and unverified. If two linked accounts have parents with the name, the name
   * means the account whose parent is better entitled to it. If neither parent is better entitled, the name means no linked account.
   * @default false
   */
  readonly isParentNameAllowed?: boolean;
}

/** Accounts of all tenants, for sign-in and protocol code, which gets the tenant from the account. All other code names a tenant first. */
export interface Accounts {
  /** Returns the account of an `oid`, usable or not. Reads the store. */
  findByOid(oid: string): Promise<Account | undefined>;
  /**
   * Returns the account of an `oid`, usable or not, from rows that this node may have cached. A change on another node may be missing for up to
   * two seconds. Reads the store if the node has not cached the rows, or the cached account is not usable.
   *
   * The result may answer only a request with a live session or grant of the account, because a cut-off ends these first. The result may not
   * decide a sign-in, the issue of a token, or a write. All callers share the rows, which are frozen.
   */
  recentByOid(oid: string): Awaitable<Account | undefined>;
  /**
   * Returns the result of {@link named}, from rows that this node may have cached, for a request without a session or grant of the account.
   * Reads the store if the sign-ins of one of the accounts were cut off recently. The other rules of {@link recentByOid} hold.
   */
  recentNamed(id: string): Promise<readonly Account[]>;
  /**
   * Returns the usable accounts that a user id means. The id of a parent account means all linked accounts, because its child accounts share
   * the id as `sub`.
   */
  named(id: string): Promise<readonly Account[]>;
  /** Returns all linked accounts that share the person's `sub`, the person's account included, usable or not. */
  family(person: PersonWithUser): Promise<readonly Account[]>;
  /** Returns all accounts that an external identity was recorded for, in any tenant, usable or not. */
  ofIdentity(identity: ExternalIdentity): Promise<readonly Account[]>;
  /**
   * Returns whether an external identity was recorded for a user whose record cannot be read. In this case, no other user may get the
   * identity.
   */
  isIdentityHidden(identity: ExternalIdentity): Promise<boolean>;
  /** Returns a user name in the form in which names are compared. */
  nameKey(userName: string): string;
  /**
   * Returns usable accounts with this user name, of at most three credential owners. Accounts that are verified, or that others created,
   * come first.
   */
  candidates(userName: string, narrowed?: Narrowed): Promise<readonly Account[]>;
  /** Returns usable accounts of persons with this e-mail address. If there is more than one, the result has at least two. */
  withEmail(email: string, tids: readonly string[] | undefined): Promise<readonly Account[]>;
  /** Returns the candidates among these `oid`s alone. */
  candidatesAmong(oids: readonly string[], userName: string, narrowed?: Narrowed): Promise<readonly Account[]>;
  /** Returns the subsidiary of the person; a promise only if the cache does not have the subsidiary. */
  subsidiary(person: PersonWithUser): Subsidiary | undefined | Promise<Subsidiary | undefined>;
  /**
   * Returns the groups of the user that still exist, with the permissions that still exist. Returns a promise only if the cache does not have the groups.
   * Users with the same groups get the same array until one of these groups changes.
   */
  groups(person: PersonWithUser): readonly Group[] | Promise<readonly Group[]>;
  /**
   * Returns the same groups with all permissions that their records name, missing permissions too. The rules that protect a user use these
   * groups, because the missing record of a permission may be restored.
   */
  storedGroups(person: PersonWithUser): readonly Group[] | Promise<readonly Group[]>;
  /** Returns the address for mail about the account. An unproven address does not replace a proven one. */
  emailOf(person: PersonWithUser): string | undefined;
  /** Returns the address that the person proved last; undefined if there is none. */
  provenEmailOf(person: PersonWithUser): string | undefined;
}

/** Returns the subject identifier for sign-ins from now on. A grant keeps the identifier that it was made with. */
export const subOf = (user: PersonWithUser['user']): string => user.parentUserId ?? user.id;

/** Returns the id of the user whose credentials sign this user in. While the user is linked, this is the user of the parent account. */
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
 * Returns whether a tenant's administrator recorded the identity for the account, and the person has not confirmed the account yet. A
 * sign-in method of the instance may open the account by such an identity only if the request is limited to the account's tenant
 * (`heldTo`).
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
 * Returns whether the account may sign in, or continue a sign-in of `loginAt`. A sign-in rests on the owner of its credential, so the
 * account, the owner and the tenants of both must be active.
 * @param owner the `owner` of the sign-in. @default the user whose credentials sign in to the account now
 * @param session the name of the sign-in's session, which a cut-off may have spared. @default none
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
 * Returns whether a sign-in of `loginAt` has ended for good. An unmet policy of the tenant ends no sign-in, because an administrator may
 * change the policy back. An unreadable owner ends no sign-in either.
 */
export const isVoid = (account: Account, loginAt?: Date, owner?: string, session?: string): boolean =>
  basisOf(account, owner).accounts.some((each) => isEnded(each, loginAt, session));

/**
 * Returns whether a request that has waited for the account since `since` has ended for good. A cut-off that spares a session ends
 * sign-ins, but no waiting request.
 */
export const isWaitOver = (account: Account, since: Date | undefined): boolean =>
  isVoid(account, since, undefined, (account.owner ?? account).person.user.spared?.session);

/** Returns the time of the earliest valid sign-in, in milliseconds since the epoch. */
export const notBeforeOf = (account: Account, owner?: string): number =>
  Math.max(...basisOf(account, owner).accounts.map((each) => ownNotBefore(each)));

/**
 * Returns the accounts that a sign-in rests on. `isWhole` is false if the owner of its credential is neither the account nor its readable
 * parent account.
 */
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

/** Returns whether the last cut-off of the user spared this session. */
const isSpared = ({ person: { user } }: Account, session: string | undefined): boolean =>
  session !== undefined && user.spared?.session === session && user.spared.notBefore.getTime() === user.notBefore?.getTime();

const ownNotBefore = ({ person: { user }, tenant }: Account, isSpared = false): number =>
  Math.max((isSpared ? user.spared?.before : user.notBefore)?.getTime() ?? 0, tenant.notBefore?.getTime() ?? 0);

/** Maximum number of distinct credentials that a password is compared with. */
export const MAX_CREDENTIAL_OWNERS = 3;
