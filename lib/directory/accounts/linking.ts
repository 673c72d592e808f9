/**
 * Linked accounts: a child takes the `sub` of its parent. Links are one level deep, and a family has one account per tenant.
 *
 * A link is two compare-and-swaps. The first enters the child in the parent's list, which makes it a parent (refused if it has a parent). The
 * second gives the child its parent (refused if it is one, or has another). An unlink goes back the same way: the child loses its parent,
 * then it is removed from the list. So whoever has a parent is in that parent's list, whoever is in a list makes a parent of its owner, and no
 * order of steps makes a chain. That a family has one account per tenant is a unique index over parent and tenant.
 *
 * A child may be removed from the list only while no other link is between its two steps. The second step therefore holds for the very version of
 * the child that was read before the first, and {@link removeChildEntries} writes each child that has no such parent anew before it removes it
 * from an unchanged list: a link that was under way then loses its second step and starts again.
 */
import { IdpError } from '../../errors.js';
import type { CheckedCollection } from '../../store/records/checked-directory.js';
import type { Person, PersonWithUser, User, Voucher } from '../../store/records/records.js';
import type { DirectoryContext } from '../context.js';
import { type CheckCurrent, writeJudged } from '../input.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import { hasUser, type JudgeChild } from '../persons/user-record.js';
import { mayLinkAccounts } from '../tenants/sign-in-policy.js';
import { voucherFor } from '../vouchers.js';

export interface ParentRef {
  readonly tid: string;
  readonly userId: string;
}

/** The account links of a tenant's users. */
export interface Linking {
  /**
   * Links a user of this tenant to a parent account of another tenant. A second call with the same parent account changes nothing.
   * @param judge throws if the child account must not be linked. The account link is written only over the version of the child account that
   * `judge` saw.
   * @returns the child account.
   * @throws IdpError `not_found`, `link_self`, `link_chain`, `link_same_tenant`, `link_not_allowed`; `already_linked` when the user has
   * another parent account.
   */
  link(childUserId: string, parent: ParentRef, judge?: JudgeChild): Promise<PersonWithUser>;
  /**
   * Ends the account link and all sign-ins of the child account, and notifies its clients. The parent account may be in any tenant.
   * @returns the child account.
   * @throws IdpError `not_found`, `not_linked`.
   */
  unlink(childUserId: string, parentUserId: string, check?: CheckCurrent<PersonWithUser>): Promise<PersonWithUser>;
}

const same: JoinedChange = (child) => child;

export const createLinking = (links: Links, tid: string): Linking => ({
  link: (childUserId, parent, judge) => links.link({ tid, userId: childUserId }, parent, { judge }),
  unlink: (childUserId, parentUserId, check) => links.unlink({ tid, userId: childUserId }, parentUserId, check),
});

/** Changes a child account. The function may run again after a concurrent write, so it must have no side effects. */
export type JoinedChange = (child: PersonWithUser) => PersonWithUser;

export interface LinkRules {
  /** A change of the child account that is written together with its account link. The change throws if the child account must not be linked. */
  readonly joined?: JoinedChange;
  readonly judge?: JudgeChild | undefined;
  /** Voucher of the account link. @default the voucher of the context's caller */
  readonly vouchedBy?: Voucher | undefined;
}

/** Account links between any tenants, for services of the directory that are bound to the tenant they name. */
export interface Links {
  link(child: ParentRef, parent: ParentRef, rules?: LinkRules): Promise<PersonWithUser>;
  unlink(child: ParentRef, parentUserId: string, check?: CheckCurrent<PersonWithUser>): Promise<PersonWithUser>;
  /**
   * Ends every account link of a person's user, as a child account and as a parent account. An unreadable child account is removed from the
   * list of its parent account, and is not written.
   * @param judge throws if the account link of one of its child accounts must not end. Each account link ends only for the version of the
   * child account that `judge` saw.
   */
  endAll(person: Person, judge?: JudgeChild): Promise<void>;
  /** Checks the child accounts whose account links {@link Links.endAll} ends, before anything is written. */
  judgeChildren(person: Person, judge: JudgeChild): Promise<void>;
}

export const createLinks = (context: DirectoryContext): Links => ({
  link: (child, parent, rules) => link(context, child, parent, rules),
  unlink: (child, parentUserId, check) => unlink(context, child, parentUserId, check),
  endAll: (person, judge) => endAll(context, person, judge),
  async judgeChildren({ user }, judge) {
    for (const child of user ? await childrenOf(context, user) : []) await judge(child);
  },
});

async function link(context: DirectoryContext, childRef: ParentRef, parentRef: ParentRef, rules: LinkRules = {}): Promise<PersonWithUser> {
  const { joined = same, judge, vouchedBy = await voucherFor(context, childRef.tid) } = rules;
  let isEntered = false;
  try {
    for (let isSwept = false; ; ) {
      const child = await requireUser(context, childRef);
      const changed = joined(child);
      const parent = await requireUser(context, parentRef);
      if (child.user.parentUserId === parent.user.id) {
        const row = changed === child ? child : await writeAt(context, child, changed);
        if (row) return row;
        continue;
      }
      if (child.user.isParent && !isSwept) {
        isSwept = true;
        await removeChildEntries(context, child.user.id);
        continue;
      }
      checkLink(child, parent);
      for (const { tid } of [child, parent]) await checkPolicy(context, tid);
      await judge?.(child);
      isEntered = true;
      await enter(context, parent, child.user.id);
      const linked = await giveParent(context, changed, parent, vouchedBy);
      if (linked) return linked;
    }
  } catch (error) {
    // If the removal fails too, the entry has no effect: the next account link or unlink removes it.
    if (isEntered) await removeChildEntries(context, parentRef.userId).catch(() => undefined);
    throw error;
  }
}

async function requireUser({ collections }: DirectoryContext, { tid, userId }: ParentRef): Promise<PersonWithUser> {
  const person = await byUser(collections.persons, userId);
  if (person?.tid !== tid) throw new IdpError('not_found');
  return person;
}

function checkLink(child: PersonWithUser, parent: PersonWithUser): void {
  if (child.user.id === parent.user.id) throw new IdpError('link_self');
  if (child.user.parentUserId !== undefined) throw new IdpError('already_linked');
  if (child.user.isParent || parent.user.parentUserId !== undefined) throw new IdpError('link_chain');
  if (child.tid === parent.tid) throw new IdpError('link_same_tenant');
}

/**
 * Checks that the tenant allows account links. Reads the store, because another node may have just changed the tenant. Only new account
 * links are checked.
 */
async function checkPolicy({ collections }: DirectoryContext, tid: string): Promise<void> {
  if (!mayLinkAccounts(await collections.tenants.get(tid))) throw new IdpError('link_not_allowed');
}

/** Writes the child account's next form. Returns undefined if the child account was written after it was read. */
async function writeAt(
  { collections: { persons } }: DirectoryContext,
  child: PersonWithUser,
  next: PersonWithUser,
): Promise<PersonWithUser | undefined> {
  let isOurs = false;
  const row = await persons.update(child.id, (current) => {
    isOurs = current.version === child.version;
    return isOurs ? next : current;
  });
  return isOurs && hasUser(row) ? row : undefined;
}

/** Performs the first step of an account link: enters the child account in the parent account's list. */
async function enter(
  { collections: { persons }, now }: DirectoryContext,
  { id, user: { id: userId } }: PersonWithUser,
  childUserId: string,
): Promise<void> {
  const parent = await persons.update(id, (row) => {
    if (!hasUser(row) || row.user.id !== userId) return row;
    if (row.user.parentUserId !== undefined) throw new IdpError('link_chain');
    return withChildren(row, [...new Set([...(row.user.childUserIds ?? []), childUserId])], new Date(now()));
  });
  if (parent?.user?.id !== userId) throw new IdpError('not_found');
}

/** Performs the second step of an account link. Returns undefined if the child account was written after it was read. */
async function giveParent(
  { collections: { persons }, now }: DirectoryContext,
  child: PersonWithUser,
  parent: PersonWithUser,
  parentVouchedBy: Voucher,
): Promise<PersonWithUser | undefined> {
  const event = { AggregateId: child.user.id, ClaimType: 'sub', ClaimValue: parent.user.id };
  const user: User = { ...child.user, parentUserId: parent.user.id, parentVouchedBy };
  const linked = withEvents({ ...child, user, updatedAt: new Date(now()) }, pendingEvent(now, 'UserClaimAdded', child.tid, event));
  const row = await persons
    .update(child.id, (current) => (current.version === child.version ? linked : current))
    .catch((error: unknown) => {
      throw IdpError.is(error, 'conflict') ? new IdpError('link_same_tenant') : error;
    });
  return hasUser(row) && row.user.parentUserId === parent.user.id ? row : undefined;
}

async function unlink(
  context: DirectoryContext,
  childRef: ParentRef,
  parentUserId: string,
  check?: CheckCurrent<PersonWithUser>,
): Promise<PersonWithUser> {
  const { collections, now, withCutoff } = context;
  const { id } = await requireUser(context, childRef);
  const child = await withCutoff({ oid: childRef.userId }, (nextNotBefore) =>
    collections.persons.update(id, (row) => {
      if (row.user?.parentUserId !== parentUserId) throw new IdpError('not_linked');
      check?.(row as PersonWithUser);
      const { parentUserId: _, parentVouchedBy: __, ...rest } = row.user;
      const event = { AggregateId: rest.id, ClaimType: 'sub', ClaimValue: parentUserId };
      return withEvents(
        { ...row, user: { ...rest, notBefore: nextNotBefore(rest) }, updatedAt: new Date(now()) },
        pendingEvent(now, 'UserClaimRemoved', row.tid, event),
      );
    }),
  );
  if (!hasUser(child)) throw new IdpError('not_found');
  await removeChildEntries(context, parentUserId);
  return child;
}

/**
 * Returns the child accounts, including unreadable ones. The look-up by parent account may miss a damaged child account; the parent
 * account's list has it.
 */
async function childrenOf({ collections }: DirectoryContext, { id, childUserIds = [] }: User): Promise<readonly PersonWithUser[]> {
  const persons = collections.persons.withUnreadable();
  const children = await persons.find({ byParent: [id] });
  const others = childUserIds.filter((userId) => !children.some(({ user }) => user?.id === userId));
  const listed = await Promise.all(others.map((userId) => persons.find({ byUser: [userId] })));
  return [...children, ...listed.flat().filter((row) => !persons.isReadable(row))] as readonly PersonWithUser[];
}

async function endAll(context: DirectoryContext, { tid, user }: Person, judge: JudgeChild = async () => undefined): Promise<void> {
  if (user === undefined) return;
  const { isReadable } = context.collections.persons.withUnreadable();
  if (user.parentUserId !== undefined)
    await unlink(context, { tid, userId: user.id }, user.parentUserId).catch(IdpError.unless('not_linked', 'not_found'));
  for (const child of await childrenOf(context, user)) {
    if (!isReadable(child)) {
      await judge(child);
      continue;
    }
    const childRef = { tid: child.tid, userId: child.user.id };
    await writeJudged(child, judge, (check) => unlink(context, childRef, user.id, check)).catch(IdpError.unless('not_linked', 'not_found'));
  }
  if (user.isParent) await removeChildEntries(context, user.id, { keepsUnreadable: false });
}

/**
 * Removes from the parent account's list each user who has another parent account, or none.
 * @param options `keepsUnreadable`: whether the list keeps an unreadable child account, because the child account may still have this
 * parent account
 */
async function removeChildEntries(
  { collections: { persons }, now }: DirectoryContext,
  parentUserId: string,
  { keepsUnreadable = true }: { readonly keepsUnreadable?: boolean } = {},
): Promise<void> {
  for (;;) {
    const parent = await byUser(persons, parentUserId);
    const listed = parent?.user.childUserIds ?? [];
    const children: string[] = [];
    for (const userId of listed) {
      const isListed = await isChild(persons, userId, parentUserId);
      if (isListed === 'unreadable' ? keepsUnreadable : isListed) children.push(userId);
    }
    if (parent === undefined || children.length === listed.length) return;
    let isStruck = false;
    await persons.update(parent.id, (row) => {
      isStruck = row.version === parent.version && hasUser(row);
      return isStruck ? withChildren(row as PersonWithUser, children, new Date(now())) : row;
    });
    if (isStruck) return;
  }
}

/**
 * Returns whether the user has this parent account. A user with another parent account, or none, is rewritten, so that no concurrent
 * account link can complete.
 */
async function isChild(persons: CheckedCollection<Person>, userId: string, parentUserId: string): Promise<boolean | 'unreadable'> {
  const person = await byUser(persons, userId);
  if (person === undefined) return (await persons.has({ byUser: [userId] })) && 'unreadable';
  const row = await persons.update(person.id, (current) => (current.user?.parentUserId === parentUserId ? current : { ...current }));
  return row?.user?.parentUserId === parentUserId;
}

async function byUser(persons: CheckedCollection<Person>, userId: string): Promise<PersonWithUser | undefined> {
  const [person] = await persons.find({ byUser: [userId] });
  return hasUser(person) ? person : undefined;
}

const withChildren = (row: PersonWithUser, childUserIds: readonly string[], updatedAt: Date): PersonWithUser => ({
  ...row,
  user: { ...row.user, childUserIds, isParent: childUserIds.length > 0 },
  updatedAt,
});
