import { IdpError } from '../../errors.js';
import type { SignOutReason } from '../../events.js';
import { present } from '../../present.js';
import type { ExternalIdentity, PendingEvent, Person, PersonWithUser, User, Voucher } from '../../store/records/records.js';
import type { DirectoryContext, NextNotBefore } from '../context.js';
import { type GroupRefs, groupRefs, resolveGroupIds } from '../groups/group-refs.js';
import type { Groups } from '../groups/groups.js';
import { type CheckCurrent, checkInput, type Patch, patched } from '../input.js';
import type { Listed } from '../lists/list.js';
import { changed, pendingEvent, withEvents } from '../outbox/pending-events.js';
import { vouchedIdentities, voucherFor } from '../vouchers.js';
import { withEmailVoucher, withoutDoubt } from './email-addresses.js';
import { createUserList, type UserQuery } from './person-lists.js';
import { createPersonRows, type PersonRows } from './person-rows.js';
import { holdUserId } from './user-ids.js';
import {
  changedUser,
  externalIdentityKey,
  hasUser,
  type JudgeChild,
  newUser,
  type Spared,
  sparing,
  type UserFields,
  type UserInput,
  userInput,
  userPatch,
  withMembers,
} from './user-record.js';

/** The users of a tenant. Each result is the person's document, which holds the user. */
export interface Users {
  /**
   * Gives a person a user. The user is invited and cannot sign in, unless `status` is `active`.
   * @param as `restore` for a removed user that gets its id again
   * @throws IdpError `not_found`, `person_has_user`, `invalid_record`, `user_name_taken`, `group_unknown`, `group_refs_mixed`; `conflict`
   * when another user, or a removed one, has the id.
   */
  create(personId: string, input: UserInput, as?: 'restore'): Promise<PersonWithUser>;
  get(userId: string): Promise<PersonWithUser | undefined>;
  /** @throws IdpError `not_found`. */
  require(userId: string): Promise<PersonWithUser>;
  findByUserName(userName: string): Promise<PersonWithUser | undefined>;
  /** @throws IdpError `invalid_request`, `invalid_cursor`. */
  list(query?: UserQuery): Promise<Listed<PersonWithUser>>;
  /** @throws IdpError `not_found`, `invalid_record`, `user_name_taken`. */
  update(userId: string, patch: Patch<UserFields>, check?: CheckCurrent<PersonWithUser>): Promise<PersonWithUser>;
  /**
   * Records an external identity by which the user can sign in from now on. If a tenant's administrator recorded the identity first, and the
   * user records it again, the identity gets the user's voucher.
   * @throws IdpError `not_found`, `invalid_record`.
   */
  addIdentity(userId: string, identity: ExternalIdentity): Promise<PersonWithUser>;
  /**
   * Marks a recorded identity, because the person who has it confirmed that the account is theirs. Changes nothing if the identity is not
   * recorded.
   * @throws IdpError `not_found`.
   */
  acknowledgeIdentity(userId: string, identity: ExternalIdentity): Promise<PersonWithUser>;
  /** Removes an identity and ends every sign-in of the user. An update that leaves out an identity does the same. @throws IdpError `not_found`. */
  removeIdentity(userId: string, identity: ExternalIdentity, removal?: IdentityRemoval): Promise<PersonWithUser>;
  /** Replaces the user's groups. @throws IdpError `not_found`, `group_unknown`, `group_refs_mixed`; nothing is written then. */
  setGroups(userId: string, refs: GroupRefs, check?: CheckCurrent<PersonWithUser>): Promise<PersonWithUser>;
  /** Adds the user to these groups, in addition to the user's other groups. @throws as {@link setGroups}. */
  addGroups(userId: string, refs: GroupRefs, check?: CheckCurrent<PersonWithUser>): Promise<PersonWithUser>;
  /** Removes the user from these groups. @throws as {@link setGroups}. */
  removeGroups(userId: string, refs: GroupRefs, check?: CheckCurrent<PersonWithUser>): Promise<PersonWithUser>;
  /** Disables the user: ends every sign-in, notifies the clients, and refuses new sign-ins. @throws IdpError `not_found`. */
  disable(userId: string): Promise<PersonWithUser>;
  /** Gives a disabled user its former status, `invited` or `active`. @throws IdpError `not_found`. */
  enable(userId: string, check?: CheckCurrent<PersonWithUser>): Promise<PersonWithUser>;
  /** Lets an invited user sign in; a disabled user can sign in after it is enabled. @throws IdpError `not_found`. */
  activate(userId: string): Promise<PersonWithUser>;
  /** Ends every sign-in before this moment, and notifies the clients. @throws IdpError `not_found`. */
  signOutEverywhere(userId: string, reason?: SignOutReason): Promise<PersonWithUser>;
  /**
   * Ends every sign-in before this moment, except the sign-in of one session and its grants. A second call with the same cause changes
   * nothing. @throws IdpError `not_found`.
   */
  signOutOthers(userId: string, spared: Spared, reason?: SignOutReason): Promise<PersonWithUser>;
  /**
   * Removes the user with its sign-ins, password, consents, external identities, group memberships, invitations and account links. The
   * person stays.
   * @param judge throws if the account link of one of the user's child accounts must not end
   * @throws IdpError `not_found`.
   */
  remove(userId: string, judge?: JudgeChild): Promise<Person>;
}

/** Conditions of the removal of an identity. */
export interface IdentityRemoval {
  readonly check?: CheckCurrent<PersonWithUser>;
  /** Returns the session that continues, by the identities that are left; undefined for none. The function may be called again. @default none */
  readonly spares?: (left: readonly ExternalIdentity[]) => Spared | undefined;
}

interface Parts {
  readonly groups: Groups;
  removeUser(tid: string, userId: string, judge?: JudgeChild): Promise<Person>;
}

/**
 * Makes the change, and ends every sign-in of the user if the change removes an identity. The user keeps no sign-in that rests on a former
 * identity.
 */
function withoutSignIns(user: User, changes: Partial<User>, nextNotBefore: NextNotBefore, spared?: Spared): Partial<User> {
  const isKept = (key: string): boolean => changes.externalIdentityKeys?.includes(key) ?? true;
  if (user.externalIdentityKeys.every(isKept)) return changes;
  return { ...changes, ...(spared ? sparing(user, spared, nextNotBefore) : { notBefore: nextNotBefore(user) }) };
}

/** The users of one tenant. */
interface Scope {
  readonly context: DirectoryContext;
  readonly groups: Groups;
  readonly rows: PersonRows;
  readonly tid: string;
}

export function createUsers(context: DirectoryContext, { groups, removeUser }: Parts, tid: string): Users {
  const rows = createPersonRows(context, tid);
  const scope: Scope = { context, groups, rows, tid };
  return {
    get: rows.getByUser,
    require: rows.requireByUser,
    list: createUserList(context, rows, tid),
    findByUserName: rows.getByUserName,
    create: (personId, input, as) => create(scope, personId, input, as),
    update: (userId, patch, check) => update(scope, userId, patch, check),
    addIdentity: (userId, identity) => addIdentity(scope, userId, identity),
    acknowledgeIdentity: (userId, identity) => acknowledgeIdentity(scope, userId, identity),
    removeIdentity: (userId, identity, removal) => removeIdentity(scope, userId, identity, removal),
    setGroups: (userId, refs, check) => regroup(scope, userId, refs, (_, given) => given, check),
    addGroups: (userId, refs, check) => regroup(scope, userId, refs, (current, given) => [...new Set([...current, ...given])], check),
    removeGroups: (userId, refs, check) =>
      regroup(scope, userId, refs, (current, given) => current.filter((id) => !given.includes(id)), check),
    disable: (userId) => disable(scope, userId),
    enable: (userId, check) => enable(scope, userId, check),
    activate: (userId) => activate(scope, userId),
    signOutEverywhere: (userId, reason) => signOutEverywhere(scope, userId, reason),
    signOutOthers: (userId, spared, reason) => signOutOthers(scope, userId, spared, reason),
    remove: (userId, judge) => removeUser(tid, userId, judge),
  };
}

/** Writes members of a user, with the events of the change. A change that changes nothing writes nothing. */
const change = (
  { context: { now }, rows }: Scope,
  userId: string,
  changes: (row: PersonWithUser) => Partial<User>,
  event: (next: PersonWithUser, before: PersonWithUser) => PendingEvent | readonly PendingEvent[],
  vouchedBy?: Voucher,
): Promise<PersonWithUser> =>
  rows.updateByUser(userId, (row) => {
    const user = withoutDoubt(withMembers(row.user, changes(row)));
    // A caller who states that the address is verified vouches for it.
    const isVouched = user.emailVerified && !row.user.emailVerified && vouchedBy && vouchedBy.by !== 'tenant';
    const next = patched(now, isVouched ? withEmailVoucher(row, vouchedBy) : row, { user });
    return next === row ? row : withEvents(next, ...[event(next, row)].flat());
  });

/** Returns the events by which the person is notified of each identity that was added or removed. */
function identityEvents(
  { context: { now }, tid }: Scope,
  { user: before }: PersonWithUser,
  { user }: PersonWithUser,
): readonly PendingEvent[] {
  const isLackedBy =
    ({ externalIdentityKeys }: User) =>
    (identity: ExternalIdentity) =>
      !externalIdentityKeys.includes(externalIdentityKey(identity));
  const eventOf =
    (type: 'UserIdentityAdded' | 'UserIdentityRemoved') =>
    ({ idp }: ExternalIdentity) =>
      pendingEvent(now, type, tid, { AggregateId: user.id, Idp: idp });
  return [
    ...user.externalIdentities.filter(isLackedBy(before)).map(eventOf('UserIdentityAdded')),
    ...before.externalIdentities.filter(isLackedBy(user)).map(eventOf('UserIdentityRemoved')),
  ];
}

async function create(scope: Scope, personId: string, input: UserInput, as: 'restore' | undefined): Promise<PersonWithUser> {
  const { context, groups, rows, tid } = scope;
  const { now } = context;
  checkInput(userInput, input);
  if (!(await rows.get(personId))) throw new IdpError('not_found');
  const groupIds = input.groups ? await resolveGroupIds(groups, input.groups) : [];
  const user = newUser(input, groupIds, await voucherFor(context, tid));
  const event = (type: 'UserCreated' | 'UserRemoved') => pendingEvent(now, type, tid, { AggregateId: user.id, PersonId: personId });
  let isOurs = false;
  const write = () =>
    rows.update(personId, (row) => {
      if (row.user) throw new IdpError('person_has_user');
      isOurs = true;
      return withEvents({ ...row, user, updatedAt: new Date(now()) }, event('UserCreated'));
    });
  const undo = () =>
    rows.update(personId, (row) => {
      const { user: current, ...rest } = row;
      return isOurs && current?.id === user.id ? withEvents({ ...rest, updatedAt: new Date(now()) }, event('UserRemoved')) : row;
    });
  const given = { id: user.id, path: '/id', isRestored: as === 'restore' };
  const person = await (input.id === undefined ? write() : holdUserId(context, given, { write, undo }));
  if (!hasUser(person)) throw new IdpError('not_found');
  return person;
}

async function update(
  scope: Scope,
  userId: string,
  patch: Patch<UserFields>,
  check: CheckCurrent<PersonWithUser> | undefined,
): Promise<PersonWithUser> {
  const { context, rows, tid } = scope;
  checkInput(userPatch, patch);
  const { externalIdentities } = patch;
  const voucher = await voucherFor(context, tid, await rows.requireByUser(userId));
  const write = (next: (user: User) => Partial<User>) =>
    change(
      scope,
      userId,
      (row) => {
        check?.(row);
        return next(row.user);
      },
      (next, before) => [pendingEvent(context.now, 'PersonUpdated', tid, { AggregateId: next.id }), ...identityEvents(scope, before, next)],
      voucher,
    );
  if (externalIdentities === undefined) return write(() => changedUser(patch));
  return context.withCutoff({ oid: userId }, (nextNotBefore) =>
    write((user) => {
      const vouched = vouchedIdentities(externalIdentities, user.externalIdentities, voucher);
      return withoutSignIns(user, changedUser({ ...patch, externalIdentities: vouched }), nextNotBefore);
    }),
  );
}

async function addIdentity(scope: Scope, userId: string, identity: ExternalIdentity): Promise<PersonWithUser> {
  const { context, rows, tid } = scope;
  checkInput(userPatch, { externalIdentities: [identity] });
  const key = externalIdentityKey(identity);
  const vouchedBy = await voucherFor(context, tid, await rows.requireByUser(userId));
  return change(
    scope,
    userId,
    ({ user: { externalIdentities } }) => {
      const before = externalIdentities.find((one) => externalIdentityKey(one) === key);
      // A writer who vouches for everything vouches for more than the administrator who recorded the identity.
      if (before && (before.vouchedBy?.by !== 'tenant' || vouchedBy.by === 'tenant')) return {};
      const others = externalIdentities.filter((one) => one !== before);
      return changedUser({ externalIdentities: [...others, { ...identity, vouchedBy }] });
    },
    (next, before) => identityEvents(scope, before, next),
  );
}

function acknowledgeIdentity(scope: Scope, userId: string, identity: ExternalIdentity): Promise<PersonWithUser> {
  const key = externalIdentityKey(identity);
  const isNew = (one: ExternalIdentity): boolean => externalIdentityKey(one) === key && !one.isAcknowledged;
  return change(
    scope,
    userId,
    ({ user: { externalIdentities } }) =>
      externalIdentities.some(isNew)
        ? changedUser({ externalIdentities: externalIdentities.map((one) => (isNew(one) ? { ...one, isAcknowledged: true } : one)) })
        : {},
    (next) => [
      pendingEvent(scope.context.now, 'PersonUpdated', scope.tid, { AggregateId: next.id }),
      pendingEvent(scope.context.now, 'UserIdentityConfirmed', scope.tid, { AggregateId: userId, Idp: identity.idp }),
    ],
  );
}

const removeIdentity = (
  scope: Scope,
  userId: string,
  identity: ExternalIdentity,
  { check, spares }: IdentityRemoval = {},
): Promise<PersonWithUser> =>
  scope.context.withCutoff({ oid: userId }, (nextNotBefore) =>
    change(
      scope,
      userId,
      (row) => {
        check?.(row);
        const { user } = row;
        const key = externalIdentityKey(identity);
        const others = user.externalIdentities.filter((one) => externalIdentityKey(one) !== key);
        return others.length === user.externalIdentities.length
          ? {}
          : withoutSignIns(user, changedUser({ externalIdentities: others }), nextNotBefore, spares?.(others));
      },
      (next, before) => identityEvents(scope, before, next),
    ),
  );

/** @param next returns the new group ids of the user, from its present ids and the given ids */
async function regroup(
  scope: Scope,
  userId: string,
  refs: GroupRefs,
  next: (current: readonly string[], given: readonly string[]) => readonly string[],
  check: CheckCurrent<PersonWithUser> | undefined,
): Promise<PersonWithUser> {
  const { context, groups, rows, tid } = scope;
  checkInput(groupRefs, refs);
  await rows.requireByUser(userId);
  const given = await resolveGroupIds(groups, refs);
  return change(
    scope,
    userId,
    (row) => {
      check?.(row);
      return { groupIds: next(row.user.groupIds, given) };
    },
    ({ user }) => pendingEvent(context.now, 'UserGroupsChanged', tid, { AggregateId: userId, GroupIds: user.groupIds }),
  );
}

const disable = ({ context: { now, withCutoff }, rows, tid }: Scope, userId: string): Promise<PersonWithUser> =>
  withCutoff({ oid: userId }, (nextNotBefore) =>
    rows.updateByUser(userId, (row) => {
      if (row.user.status === 'disabled') return row;
      const { status: statusBefore } = row.user;
      const user = { ...row.user, status: 'disabled' as const, statusBefore, notBefore: nextNotBefore(row.user) };
      return withEvents({ ...row, user, updatedAt: new Date(now()) }, pendingEvent(now, 'UserDisabled', tid, { AggregateId: userId }));
    }),
  );

const enable = (
  { context: { now }, rows, tid }: Scope,
  userId: string,
  check: CheckCurrent<PersonWithUser> | undefined,
): Promise<PersonWithUser> =>
  rows.updateByUser(userId, (row) => {
    check?.(row);
    const { statusBefore = 'active', ...user } = row.user;
    if (user.status !== 'disabled') return row;
    const event = pendingEvent(now, 'UserEnabled', tid, { AggregateId: userId });
    return withEvents({ ...row, user: { ...user, status: statusBefore }, updatedAt: new Date(now()) }, event);
  });

const activate = ({ context: { now }, rows, tid }: Scope, userId: string): Promise<PersonWithUser> =>
  rows.updateByUser(userId, (row) => {
    const next = patched(now, row, { user: { ...row.user, [row.user.status === 'disabled' ? 'statusBefore' : 'status']: 'active' } });
    return changed(row, next, pendingEvent(now, 'UserActivated', tid, { AggregateId: userId }));
  });

const signOutEverywhere = (
  { context: { now, withCutoff }, rows, tid }: Scope,
  userId: string,
  reason?: SignOutReason,
): Promise<PersonWithUser> =>
  withCutoff({ oid: userId }, (nextNotBefore) =>
    rows.updateByUser(userId, (row) => {
      const next = { ...row, user: { ...row.user, notBefore: nextNotBefore(row.user) }, updatedAt: new Date(now()) };
      return withEvents(next, pendingEvent(now, 'UserSignedOut', tid, { AggregateId: userId, ...present({ Reason: reason }) }));
    }),
  );

const signOutOthers = (
  { context: { now, withCutoff }, rows, tid }: Scope,
  userId: string,
  spared: Spared,
  reason?: SignOutReason,
): Promise<PersonWithUser> =>
  withCutoff({ oid: userId }, (nextNotBefore) =>
    rows.updateByUser(userId, (row) => {
      if (row.user.spared?.cause === spared.cause) return row;
      const next = { ...row, user: { ...row.user, ...sparing(row.user, spared, nextNotBefore) }, updatedAt: new Date(now()) };
      return withEvents(next, pendingEvent(now, 'UserSignedOut', tid, { AggregateId: userId, ...present({ Reason: reason }) }));
    }),
  );
