/**
 * Replacement of a user's password.
 *
 * The new password is first stored under a separate id, then the person's document names it. The write of the document decides between
 * concurrent changes, revokes the sign-ins that end with the change, and raises the event. Afterwards the password moves to the user's id. The
 * sign-ins end in the store after that, because the former password would sign in while that store is slow. If a node crashes, the delivery
 * that was enqueued first completes the change.
 */
import type { Delivery, PersonWithUser, Voucher } from '../../store/records/records.js';
import type { DirectoryContext } from '../context.js';
import { newId } from '../identifiers.js';
import { newRecord } from '../input.js';
import type { Deliveries } from '../outbox/deliveries.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import { hasUser } from '../persons/user-record.js';
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

export function createPasswordChanges(
  { collections: { persons, credentials }, now, withCutoff }: DirectoryContext,
  { enqueue, handle }: Pick<Deliveries, 'enqueue' | 'handle'>,
): ChangePassword {
  const byUser = async (userId: string): Promise<PersonWithUser | undefined> => (await persons.find({ byUser: [userId] })).find(hasUser);

  /** Moves the password that the document names to the user's id. A second call changes nothing. */
  async function take(userId: string, credentialId: string, serial: number): Promise<void> {
    const passwordHash = (await credentials.get(credentialId))?.passwordHash;
    if (passwordHash === undefined) return;
    await credentials.upsert(userId, (row) => {
      if (!row) return newRecord(now, userId, { passwordHash, serial });
      return (row.serial ?? 0) >= serial ? row : { ...row, passwordHash, serial, updatedAt: new Date(now()) };
    });
    await credentials.remove(credentialId);
  }

  async function settle(userId: string): Promise<void> {
    const { newPassword } = (await byUser(userId))?.user ?? {};
    if (newPassword === undefined) return;
    await take(userId, newPassword.credentialId, newPassword.serial);
    if (!newPassword.endsSignIns) return;
    for (const child of (await persons.find({ byParent: [userId] })).filter(hasUser)) await cutOff(child, userId, newPassword.at);
  }

  async function cutOff(child: PersonWithUser, parentUserId: string, changedAt: Date): Promise<void> {
    if ((child.user.notBefore?.getTime() ?? 0) >= changedAt.getTime()) return;
    await withCutoff({ oid: child.user.id }, (nextNotBefore) =>
      persons.update(child.id, (row) => {
        if (!hasUser(row) || row.user.parentUserId !== parentUserId) return row;
        const user = { ...row.user, notBefore: nextNotBefore(row.user) };
        return withEvents(
          { ...row, user, updatedAt: new Date(now()) },
          pendingEvent(now, 'UserSignedOut', row.tid, { AggregateId: user.id }),
        );
      }),
    );
  }

  handle(KIND, async ({ data, createdAt }: Delivery) => {
    const { userId, credentialId } = data as unknown as { readonly userId: string; readonly credentialId: string };
    const named = (await byUser(userId))?.user.newPassword?.credentialId;
    if (named !== credentialId && now() - createdAt.getTime() < PATIENCE_MS && (await credentials.get(credentialId)))
      throw new Error('the change of the password has not ended yet, and the delivery that settles it waits for the end');
    await settle(userId);
    if (named !== credentialId) await credentials.remove(credentialId);
  });

  return async ({ userId, passwordHash, endsSignIns, decide, vouchedBy }) => {
    const startedAt = now();
    const person = await byUser(userId);
    if (person === undefined) return false;
    const credentialId = newId();
    const { release } = await enqueue([{ kind: KIND, data: { userId, credentialId } }]);
    await credentials.insert(newRecord(now, credentialId, { passwordHash }));
    let isOurs = false;
    const write = async (notBefore: (user: PersonWithUser['user']) => Pick<PersonWithUser['user'], 'notBefore'>): Promise<void> => {
      await persons.update(person.id, (row) => {
        const isInTime = now() - startedAt < SLOWEST_MS;
        const decided = isInTime && hasUser(row) && row.user.id === userId ? decide(row) : undefined;
        isOurs = decided !== undefined;
        if (decided === undefined) return row;
        const user = withCredentialVoucher(decided.user, { kind: PASSWORD }, vouchedBy?.(row as PersonWithUser));
        const newPassword = { serial: (user.newPassword?.serial ?? 0) + 1, at: new Date(now()), credentialId, endsSignIns };
        const next = { ...decided, user: { ...user, ...notBefore(user), newPassword }, updatedAt: new Date(now()) };
        return withEvents(
          next,
          pendingEvent(now, 'UserPasswordChanged', row.tid, { AggregateId: userId }),
          ...(endsSignIns ? [pendingEvent(now, 'UserSignedOut', row.tid, { AggregateId: userId })] : []),
        );
      });
      if (isOurs) await settle(userId);
    };
    await (endsSignIns ? withCutoff({ oid: userId }, (next) => write((user) => ({ notBefore: next(user) }))) : write(() => ({})));
    // Either the user has this password already, or the user has a newer password.
    await credentials.remove(credentialId);
    release();
    return isOurs;
  };
}

/** Returns the ids of a user's unfinished passwords, in addition to the user's own id: the id of an acceptance or of a change. */
export const offeredCredentials = (user: PersonWithUser['user'] | undefined): readonly string[] =>
  [user?.accepted?.credentialId, user?.newPassword?.credentialId].filter((id) => id !== undefined);
