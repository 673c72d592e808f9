/**
 * Replacement of a user's password.
 *
 * The new password is first stored under a separate id, then the person's document names it. The write of the document decides between
 * concurrent changes, revokes the sign-ins that end with the change, and raises the event. Afterwards the password moves to the user's id. The
 * sign-ins end in the store after that, because the former password would sign in while that store is slow. If a node crashes, the delivery
 * that was enqueued first completes the change.
 */
import type { Attribution } from '../../events.js';
import { present } from '../../present.js';
import type { Unsaved } from '../../store/directory-store.js';
import type { Delivery, NewPassword, Person, PersonWithUser, User, Voucher } from '../../store/records/records.js';
import type { DirectoryContext, NextNotBefore } from '../context.js';
import { newId } from '../identifiers.js';
import { newRecord } from '../input.js';
import { attributedEvent } from '../outbox/attribution.js';
import type { Deliveries } from '../outbox/deliveries.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import { hasUser, sparing } from '../persons/user-record.js';
import { PASSWORD } from '../tenants/sign-in-policy.js';
import { withCredentialVoucher } from '../vouchers.js';

/** Kind of the delivery that completes a change after a crash. */
const KIND = 'new-password';
/** Milliseconds after which a node gives up a change, because another node may remove the offered password. */
export const SLOWEST_MS = 30_000;
/** Milliseconds that an announced write may take. After this time, the offered password is removed. */
export const PATIENCE_MS = 60_000;

export interface PasswordChange {
  readonly userId: string;
  readonly passwordHash: string;
  /** Whether the sign-ins of the user, and of users that are linked to it, end. */
  readonly endsSignIns: boolean;
  /** Name of the session that continues, with its grants, if the other sign-ins end. @default none */
  readonly spared?: string | undefined;
  /** Actor of the change, for its events. @default none */
  readonly by?: Attribution;
  /** Returns the voucher of the password, by the user's document before the change. @default the operator */
  readonly vouchedBy?: (row: PersonWithUser) => Voucher | undefined;
  /**
   * Returns the user's document with everything else that the write changes; undefined if the password must not be set any more. The function
   * may be called again.
   */
  readonly decide: (row: PersonWithUser) => PersonWithUser | undefined;
}

/** Changes a password. Returns false if `decide` refused the change, or the user no longer exists. */
export type ChangePassword = (change: PasswordChange) => Promise<boolean>;

export interface PasswordChanges {
  readonly change: ChangePassword;
  /** Completes a change of the user's password that a crash interrupted. A second call changes nothing. */
  settle(userId: string): Promise<void>;
}

interface Scope extends Pick<DirectoryContext, 'collections' | 'now' | 'withCutoff'>, Pick<Deliveries, 'enqueue'> {}

export function createPasswordChanges(
  { collections, now, withCutoff }: DirectoryContext,
  { enqueue, handle }: Pick<Deliveries, 'enqueue' | 'handle'>,
): PasswordChanges {
  const scope: Scope = { collections, now, withCutoff, enqueue };
  handle(KIND, (delivery) => complete(scope, delivery));
  return { change: (made) => change(scope, made), settle: (userId) => settle(scope, userId) };
}

const byUser = async ({ collections: { persons } }: Scope, userId: string): Promise<PersonWithUser | undefined> =>
  (await persons.find({ byUser: [userId] })).find(hasUser);

async function change(scope: Scope, made: PasswordChange): Promise<boolean> {
  const { collections, now, withCutoff, enqueue } = scope;
  const { userId, passwordHash, endsSignIns, spared } = made;
  const startedAt = now();
  const person = await byUser(scope, userId);
  if (person === undefined) return false;
  const credentialId = newId();
  const { release } = await enqueue([{ kind: KIND, data: { userId, credentialId } }]);
  await collections.credentials.insert(newRecord(now, credentialId, { passwordHash }));
  let isOurs = false;
  const write = async (ended: (user: User) => Partial<User>): Promise<void> => {
    await collections.persons.update(person.id, (row) => {
      const isInTime = now() - startedAt < SLOWEST_MS;
      const changed = isInTime ? withPassword(scope, row, made, { credentialId, ended }) : undefined;
      isOurs = changed !== undefined;
      return changed ?? row;
    });
    if (isOurs) await settle(scope, userId);
  };
  const endedBy =
    (next: NextNotBefore) =>
    (user: User): Partial<User> =>
      spared === undefined ? { notBefore: next(user) } : sparing(user, { session: spared, cause: credentialId }, next);
  await (endsSignIns ? withCutoff({ oid: userId }, (next) => write(endedBy(next))) : write(() => ({})));
  // Either the user has this password already, or the user has a newer password.
  await collections.credentials.remove(credentialId);
  release();
  return isOurs;
}

/** Returns the document that names the new password, with the events of the change. Undefined if the change is refused. */
function withPassword(
  { now }: Scope,
  row: Person,
  { userId, endsSignIns, spared, decide, vouchedBy, by = {} }: PasswordChange,
  { credentialId, ended }: { readonly credentialId: string; readonly ended: (user: User) => Partial<User> },
): Unsaved<Person> | undefined {
  const decided = hasUser(row) && row.user.id === userId ? decide(row) : undefined;
  if (decided === undefined) return undefined;
  const user = withCredentialVoucher(decided.user, { kind: PASSWORD }, vouchedBy?.(row as PersonWithUser));
  // The cut-off of the user ends sign-ins to linked accounts too, except those of the spared session.
  const end = ended(user);
  const ofLinked = spared === undefined ? present({ notBefore: end.notBefore }) : {};
  const newPassword = { serial: (user.newPassword?.serial ?? 0) + 1, credentialId, ...ofLinked };
  const next = { ...decided, user: { ...user, ...end, newPassword }, updatedAt: new Date(now()) };
  const events = [
    pendingEvent(now, 'UserPasswordChanged', row.tid, { AggregateId: userId }),
    ...(endsSignIns ? [pendingEvent(now, 'UserSignedOut', row.tid, { AggregateId: userId, Reason: 'password' })] : []),
  ];
  return withEvents(next, ...events.map((event) => attributedEvent(event, by)));
}

async function settle(scope: Scope, userId: string): Promise<void> {
  const { newPassword } = (await byUser(scope, userId))?.user ?? {};
  if (newPassword === undefined) return;
  await take(scope, userId, newPassword);
  const { notBefore } = newPassword;
  if (notBefore === undefined) return;
  const children = await scope.collections.persons.find({ byParent: [userId] });
  for (const child of children.filter(hasUser)) await cutOff(scope, child, { userId, notBefore });
}

/** Moves the password that the document names to the user's id. A second call changes nothing. */
async function take({ collections: { credentials }, now }: Scope, userId: string, { credentialId, serial }: NewPassword): Promise<void> {
  const passwordHash = (await credentials.get(credentialId))?.passwordHash;
  if (passwordHash === undefined) return;
  await credentials.upsert(userId, (row) => {
    if (!row) return newRecord(now, userId, { passwordHash, serial });
    return (row.serial ?? 0) >= serial ? row : { ...row, passwordHash, serial, updatedAt: new Date(now()) };
  });
  await credentials.remove(credentialId);
}

async function cutOff(
  { collections: { persons }, now, withCutoff }: Scope,
  child: PersonWithUser,
  parent: { readonly userId: string; readonly notBefore: Date },
): Promise<void> {
  // The parent account's cut-off is later than the sign-ins of its child accounts, too.
  if ((child.user.notBefore?.getTime() ?? 0) >= parent.notBefore.getTime()) return;
  await withCutoff({ oid: child.user.id }, (nextNotBefore) =>
    persons.update(child.id, (row) => {
      if (!hasUser(row) || row.user.parentUserId !== parent.userId) return row;
      const notBefore = new Date(Math.max(nextNotBefore(row.user).getTime(), parent.notBefore.getTime()));
      const user = { ...row.user, notBefore };
      return withEvents(
        { ...row, user, updatedAt: new Date(now()) },
        pendingEvent(now, 'UserSignedOut', row.tid, { AggregateId: user.id, Reason: 'password' }),
      );
    }),
  );
}

/** Completes a change whose node crashed. */
async function complete(scope: Scope, { data, createdAt }: Delivery): Promise<void> {
  const { collections, now } = scope;
  const { userId, credentialId } = data as unknown as { readonly userId: string; readonly credentialId: string };
  const named = (await byUser(scope, userId))?.user.newPassword?.credentialId;
  if (named !== credentialId && now() - createdAt.getTime() < PATIENCE_MS && (await collections.credentials.get(credentialId)))
    throw new Error('the change of the password has not ended yet, and the delivery that settles it waits for the end');
  await settle(scope, userId);
  if (named !== credentialId) await collections.credentials.remove(credentialId);
}

/** Returns the ids of a user's unfinished passwords, in addition to the user's own id: the id of an acceptance or of a change. */
export const offeredCredentials = (user: PersonWithUser['user'] | undefined): readonly string[] =>
  [user?.accepted?.credentialId, user?.newPassword?.credentialId].filter((id) => id !== undefined);
