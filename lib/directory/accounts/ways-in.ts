/**
 * Ways to sign in of a user: the password, identities of sign-in methods, and what extensions add, such as passkeys and identities of connections. Users
 * cannot remove their last way.
 *
 * The ways are in several collections, so the person's document decides. A removal counts the other ways for one version of the document, and its first
 * write is a write of that version. If two removals run at the same time, one therefore loses its write, and counts again. An identity and an account link
 * are in the document, and that write removes them. Any other way is named in `leavingWays` by that write, and does not count from then on. Afterwards the
 * removal removes the row of the way, and then its name.
 */
import { isDeepStrictEqual } from 'node:util';
import { IdpError } from '../../errors.js';
import type { CredentialRef, ExternalIdentity, PersonWithUser, User } from '../../store/records/records.js';
import type { DirectoryContext } from '../context.js';
import { type CheckCurrent, writeJudged } from '../input.js';
import { createPersonRows } from '../persons/person-rows.js';
import { PASSWORD } from '../tenants/sign-in-policy.js';
import type { Account, Accounts } from './accounts.js';
import type { AccountMeans } from './means.js';

/** A source of ways in addition to the password. The source returns ways of the account itself, which need not have the ways of a parent account. */
export type WaysSource = (account: Account) => Promise<readonly CredentialRef[]>;

/** A way to sign in, or the account link to the parent account, that a user removes. */
export type Removed = CredentialRef | 'parent';

/** Ways to sign in of the users of all tenants. */
export interface WaysIn {
  /** Returns the ways that sign in to the account now. A linked account has the ways of its parent account. Reads the store. */
  of(account: Account): Promise<readonly CredentialRef[]>;
  /**
   * Removes a way that is in the person's document, unless it is the last.
   * @param write removes the way, and passes `check` on to the service that writes the document
   * @returns false if nothing was removed, because the user could not sign in any more
   */
  remove(account: Account, removed: Removed, write: (check: CheckCurrent<PersonWithUser>) => Promise<unknown>): Promise<boolean>;
  /**
   * Removes a way that is in a row of its own, unless the way is the last.
   * @param removeRow removes the row. If the removal of the row fails, the way works, does not count, and can be removed again. `not_found` counts as
   * removed, because another request may have removed the row.
   * @returns as {@link remove}
   */
  removeRow(account: Account, removed: CredentialRef, removeRow: () => Promise<unknown>): Promise<boolean>;
  /** Completes {@link removeRow} after a crash: records that the row no longer exists. Call the method from a delivery that was enqueued first. */
  rowIsRemoved(account: Account, removed: CredentialRef): Promise<void>;
  /** Adds a source of ways. */
  addSource(source: WaysSource): void;
}

export interface WaysInParts {
  readonly accounts: Pick<Accounts, 'findByOid'>;
  readonly means: Pick<AccountMeans, 'refused' | 'opens' | 'hasSettings'>;
  /** Sources that extensions added. */
  readonly sources: WaysSource[];
}

/** Signals that the way is the last. */
const isLast = new Error('the last way to sign in');

export function createWaysIn(context: DirectoryContext, parts: WaysInParts): WaysIn {
  return {
    of: ({ person, tenant, owner }) => waysOf(context, parts, owner ?? { person, tenant }),
    remove: (account, removed, write) => remove(context, parts, account, removed, write),
    removeRow: (account, removed, removeRow) => removeByName(context, parts, account, removed, removeRow),
    rowIsRemoved: (account, removed) => writeLeaving(context, account, (leaving) => others(leaving, removed)),
    addSource(source) {
      parts.sources.push(source);
    },
  };
}

/** Returns the ways of an account without a parent account. */
async function waysOf(context: DirectoryContext, parts: WaysInParts, account: Account): Promise<readonly CredentialRef[]> {
  const { person } = account;
  const [password, identities, refused, ...added] = await Promise.all([
    passwordOf(context, account),
    identitiesOf(context, parts, account),
    parts.means.refused(person),
    ...parts.sources.map((source) => source(account)),
  ]);
  const excluded = [...refused, ...(person.user.leavingWays ?? [])];
  return [...password, ...identities, ...added.flat()].filter((way) => !isAmong(excluded, way));
}

async function passwordOf({ collections }: DirectoryContext, { person, tenant }: Account): Promise<readonly CredentialRef[]> {
  const { methods } = tenant.signIn ?? {};
  if (methods !== undefined && !methods.includes(PASSWORD)) return [];
  return (await collections.credentials.get(person.user.id))?.passwordHash === undefined ? [] : [{ kind: PASSWORD }];
}

/**
 * Returns an identity as a way to sign in, for `waysIn`.
 * @example
 * ```ts
 * import { type Account, type Directory, type ExternalIdentity, identityWay } from 'tenant-idp/extension';
 *
 * export async function signsIn({ waysIn }: Directory, account: Account, identity: ExternalIdentity): Promise<boolean> {
 *   return (await waysIn.of(account)).some(({ id }) => id === identityWay(identity).id);
 * }
 * ```
 */
export const identityWay = ({ idp, subject }: ExternalIdentity): CredentialRef => ({
  kind: 'identity',
  id: JSON.stringify([idp, subject]),
});

/**
 * Returns the identities by which a sign-in method of an extension signs in to the account. A source that has settings for identities adds its identities
 * itself.
 */
async function identitiesOf(
  { means: methods }: DirectoryContext,
  { means }: WaysInParts,
  account: Account,
): Promise<readonly CredentialRef[]> {
  const { person, tenant } = account;
  const ways = await Promise.all(
    person.user.externalIdentities.map(async (identity) => {
      const { idp } = identity;
      if (await means.hasSettings(idp, tenant.id)) return [];
      const method = await methods.methodOf(idp, tenant.id);
      const isAllowed = tenant.signIn?.methods?.some((name) => name === idp || name === method) ?? true;
      return method !== undefined && isAllowed && (await means.opens(identity, person)) ? [identityWay(identity)] : [];
    }),
  );
  return ways.flat();
}

async function remove(
  context: DirectoryContext,
  parts: WaysInParts,
  { person: { user } }: Account,
  removed: Removed,
  write: (check: CheckCurrent<PersonWithUser>) => Promise<unknown>,
): Promise<boolean> {
  const account = await parts.accounts.findByOid(user.id);
  if (!account) return false;
  try {
    await writeJudged(
      account.person,
      async (person) => {
        // The parent account and the tenant as they are now.
        const now = { ...account, ...(await parts.accounts.findByOid(user.id)), person };
        if (!(await keepsAWay(context, parts, now, removed))) throw isLast;
      },
      write,
    );
    return true;
  } catch (error) {
    if (error === isLast) return false;
    throw error;
  }
}

/** Returns whether the account has a way left. The removal of something that does not count as a way takes no way. */
async function keepsAWay(context: DirectoryContext, parts: WaysInParts, account: Account, removed: Removed): Promise<boolean> {
  const { person, tenant, owner } = account;
  const isLinked = removed !== 'parent' && person.user.parentUserId !== undefined;
  // Nobody can sign in by a parent account that cannot be read.
  if (isLinked && !owner) return false;
  const ways = await waysOf(context, parts, isLinked && owner ? owner : { person, tenant });
  if (removed === 'parent') return ways.length > 0;
  return isLinked || !isAmong(ways, removed) || ways.length > 1;
}

async function removeByName(
  context: DirectoryContext,
  parts: WaysInParts,
  account: Account,
  removed: CredentialRef,
  removeRow: () => Promise<unknown>,
): Promise<boolean> {
  const isNamed = await remove(context, parts, account, removed, (check) =>
    writeLeaving(context, account, (leaving) => [...others(leaving, removed), removed], check),
  );
  if (!isNamed) return false;
  try {
    await removeRow();
  } catch (error) {
    if (!IdpError.is(error, 'not_found')) throw error;
  }
  await writeLeaving(context, account, (leaving) => others(leaving, removed));
  return true;
}

async function writeLeaving(
  context: DirectoryContext,
  { person, tenant }: Account,
  change: (leaving: readonly CredentialRef[]) => readonly CredentialRef[],
  check?: CheckCurrent<PersonWithUser>,
): Promise<void> {
  await createPersonRows(context, tenant.id).updateByUser(person.user.id, (row) => {
    check?.(row);
    const before = row.user.leavingWays ?? [];
    const after = change(before);
    return isDeepStrictEqual(before, after) ? row : { ...row, user: withLeaving(row.user, after) };
  });
}

function withLeaving(user: User, leavingWays: readonly CredentialRef[]): User {
  const { leavingWays: _, ...rest } = user;
  return leavingWays.length > 0 ? { ...rest, leavingWays } : rest;
}

const isSame = (one: CredentialRef, other: CredentialRef): boolean => one.kind === other.kind && one.id === other.id;
const isAmong = (ways: readonly CredentialRef[], way: CredentialRef): boolean => ways.some((one) => isSame(one, way));
const others = (ways: readonly CredentialRef[], way: CredentialRef): readonly CredentialRef[] => ways.filter((one) => !isSame(one, way));
