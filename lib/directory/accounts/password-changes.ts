/**
 * A password that takes the place of another.
 *
 * It is kept under an id of its own first, then the person's document names it: that write decides among several at once, voids the sign-ins that end with
 * it, and raises the event. Afterwards it becomes the user's. What a crash leaves undone is finished by the delivery that was enqueued before.
 */
import type { Delivery, Person, PersonWithUser, Voucher } from '../../store/records/records.js';
import type { DirectoryContext } from '../context.js';
import { newId } from '../identifiers.js';
import { newRecord } from '../input.js';
import type { Deliveries } from '../outbox/deliveries.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import { hasUser } from '../persons/user-record.js';
import { PASSWORD } from '../tenants/sign-in-policy.js';
import { withCredentialVoucher } from '../vouchers.js';

/** The kind of delivery that goes on where a node left a change off. */
const KIND = 'new-password';
/** Milliseconds after which who offered a password gives up, because the offer may be swept away. */
export const SLOWEST_MS = 30_000;
/** Milliseconds within which an announced write is made: after them, its offer is swept away. */
export const PATIENCE_MS = 60_000;

export interface PasswordChange {
  readonly userId: string;
  readonly passwordHash: string;
  /** Whether the sign-ins of the user, and of users that are linked to it, end. */
  readonly endsSignIns: boolean;
  /** Voucher of the password, by the user's document before the change. @default the operator */
  readonly vouchedBy?: (row: PersonWithUser) => Voucher | undefined;
  /** The user's document with what else the write changes; undefined where the password is not to be set any more. It may be called again. */
  readonly decide: (row: PersonWithUser) => PersonWithUser | undefined;
}

/** Makes a change; false when `decide` was against it, or the user is gone. */
export type ChangePassword = (change: PasswordChange) => Promise<boolean>;

export function createPasswordChanges(
  { collections: { persons, credentials }, now, withCutoff }: DirectoryContext,
  { enqueue, handle }: Pick<Deliveries, 'enqueue' | 'handle'>,
): ChangePassword {
  const byUser = async (userId: string): Promise<PersonWithUser | undefined> => (await persons.find({ byUser: [userId] })).find(hasUser);

  /** Makes the password that the document names the user's. Done again, it changes nothing. */
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
    const write = (notBefore: (user: PersonWithUser['user']) => Pick<PersonWithUser['user'], 'notBefore'>): Promise<Person | undefined> =>
      persons.update(person.id, (row) => {
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
    await (endsSignIns ? withCutoff({ oid: userId }, (next) => write((user) => ({ notBefore: next(user) }))) : write(() => ({})));
    if (isOurs) await settle(userId);
    // It is the user's by now, or another one is.
    await credentials.remove(credentialId);
    release();
    return isOurs;
  };
}

/** Credentials of a user beside those of its id: of an acceptance, or a change, that was not finished. */
export const offeredCredentials = (user: PersonWithUser['user'] | undefined): readonly string[] =>
  [user?.accepted?.credentialId, user?.newPassword?.credentialId].filter((id) => id !== undefined);
