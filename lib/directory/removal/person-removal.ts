/**
 * Removal of a person, of a user, or of a tenant.
 *
 * One write is the removal: after it, nobody finds the record. Data outside the record is removed after that write (`forgetting`). A
 * removal is enqueued before its first write, and each step may run twice. So if a node stops at any step, another node completes the
 * removal. Account links end first, because the removing write requires a user without links. The user's id is noted before the removing
 * write, so that no other user gets it.
 */
import { IdpError, UnavailableError } from '../../errors.js';
import type { Delivery, Person } from '../../store/records/records.js';
import { createLinks } from '../accounts/linking.js';
import { offeredCredentials } from '../accounts/password-changes.js';
import type { DirectoryContext, ForgottenPerson } from '../context.js';
import { attributedCollections } from '../outbox/attribution.js';
import type { Deliveries } from '../outbox/deliveries.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import type { JudgeChild } from '../persons/user-record.js';
import { forgetSeeded } from '../seed-ledger.js';
import type { Forget } from './forgetting.js';

export interface PersonRemoval {
  /**
   * Erases a person with the user, credentials, consents and invitations, and notifies the clients of the user's sessions. The rest of the document carries
   * the last events, and is removed with them.
   * @param judge throws if the account link of a child account must not end
   * @throws IdpError `not_found`.
   */
  erase(tid: string, personId: string, judge?: JudgeChild): Promise<void>;
  /** Removes the user of a person with all its data. The person stays. @param judge as for `erase` @throws IdpError `not_found`. */
  removeUser(tid: string, userId: string, judge?: JudgeChild): Promise<Person>;
}

/** An enqueued removal: only ids. */
interface Announced extends ForgottenPerson {
  /** Distinguishes the person from a later one with the same id. */
  readonly createdAt: Date;
  readonly by: DirectoryContext['by'];
}

/** A removal during an attempt. */
interface Removing {
  readonly read: () => Promise<Person | undefined>;
  readonly keepsPerson: boolean;
  readonly next: (row: Person) => Person;
  readonly judge?: JudgeChild | undefined;
}

/** Kind of the delivery that completes a removal. */
const KIND = 'erase-person';

/** Attempts of a removal, because concurrent requests may change the person. */
const ATTEMPTS = 10;

interface Parts {
  readonly context: DirectoryContext;
  readonly deliveries: Pick<Deliveries, 'enqueue' | 'handle'>;
  readonly forget: Forget;
  /** Removes data of extensions. @default nothing */
  readonly erase?: ((person: ForgottenPerson) => Promise<void>) | undefined;
}

/** @returns the service over collections with the attribution of a change */
export function createPersonRemovals(parts: Parts): (context: DirectoryContext) => PersonRemoval {
  parts.deliveries.handle(KIND, ({ data }: Delivery) => finish(parts, data as unknown as Announced));
  return (context) => removalOver({ ...parts, context });
}

interface Scope extends Pick<Parts, 'context' | 'deliveries' | 'forget'> {
  /** The removal, if it is enqueued already. */
  readonly underWay?: Announced;
}

const removalOver = (scope: Scope): PersonRemoval => {
  const { now, collections } = scope.context;
  return {
    async erase(tid, personId, judge) {
      const read = async () => ofTenant(tid, await collections.persons.get(personId));
      await remove(scope, { read, keepsPerson: false, next: (row) => remainderOf(row, now), judge });
    },
    async removeUser(tid, userId, judge) {
      const read = async () => ofTenant(tid, (await collections.persons.find({ byUser: [userId] }))[0]);
      const next = ({ user: _, ...row }: Person) =>
        withEvents(
          { ...row, updatedAt: new Date(now()) },
          pendingEvent(now, 'UserRemoved', tid, { AggregateId: userId, PersonId: row.id }),
        );
      return remove(scope, { read, keepsPerson: true, next, judge });
    },
  };
};

async function remove(scope: Scope, removing: Removing): Promise<Person> {
  const { context, deliveries, forget, underWay } = scope;
  const { read, keepsPerson, judge } = removing;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const person = await read();
    if (person === undefined) throw new IdpError('not_found');
    // Runs before the removal is enqueued, because the delivery that completes the removal does not check account links.
    if (judge) await createLinks(context).judgeChildren(person, judge);
    const announced = announcementOf(person, keepsPerson, context.by);
    // A removal stays in the queue until it is complete. One entry for each attempt would multiply.
    const isEnqueued = underWay !== undefined && isAsAnnounced(person, underWay);
    const entry = isEnqueued ? undefined : await deliveries.enqueue([{ kind: KIND, data: { ...announced } }]);
    const left = await tryOnce(context, person, announced, removing).catch(async (error: unknown) => {
      // If the store is unavailable, it is unknown which writes were made.
      if (error instanceof IdpError && !(error instanceof UnavailableError)) await entry?.withdraw();
      throw error;
    });
    if (left === undefined) {
      await entry?.withdraw();
      continue;
    }
    await forget(announced);
    entry?.release();
    return left;
  }
  throw new IdpError('busy');
}

/** Attempts an enqueued removal once. @returns undefined if the person has changed since: then nothing is removed. */
async function tryOnce(
  context: DirectoryContext,
  person: Person,
  announced: Announced,
  { next, judge }: Removing,
): Promise<Person | undefined> {
  const { collections, removedUserIds, withCutoff, now } = context;
  await createLinks(context).endAll(person, judge);
  if (person.user) await removedUserIds.note(person.user.id);
  for (const id of [...(announced.keepsPerson ? [] : [person.id]), ...(person.user ? [person.user.id] : [])])
    await forgetSeeded(collections, id, now);
  let isDone = false;
  const write = () =>
    collections.persons.update(person.id, (row) => {
      isDone = isAsAnnounced(row, announced) && row.user?.parentUserId === undefined && !row.user?.isParent;
      return isDone ? next(row) : row;
    });
  const left = await (person.user ? withCutoff({ oid: person.user.id }, write) : write());
  return isDone ? left : undefined;
}

/** Completes a removal from its entry in the queue. */
async function finish({ context, deliveries, forget, erase }: Parts, underWay: Announced): Promise<void> {
  const { createdAt, by = {}, ...person } = underWay;
  const { tid, personId, userId, keepsPerson = false } = person;
  const row = ofTenant(tid, await context.collections.persons.get(personId));
  // Another person has the id now.
  if (row && createdAt !== undefined && row.createdAt.getTime() !== createdAt.getTime()) return;
  const isThere = keepsPerson ? userId !== undefined && row?.user?.id === userId : row !== undefined;
  if (isThere) {
    const attributed = { ...context, by, collections: attributedCollections(context.collections, by) };
    const removal = removalOver({ context: attributed, deliveries, forget, underWay });
    const removing = keepsPerson ? removal.removeUser(tid, userId as string) : removal.erase(tid, personId);
    await removing.catch(IdpError.unless('not_found'));
  }
  await forget(person);
  await erase?.(person);
}

const ofTenant = (tid: string, person: Person | undefined): Person | undefined => (person?.tid === tid ? person : undefined);

const announcementOf = ({ id, tid, createdAt, user }: Person, keepsPerson: boolean, by: Announced['by']): Announced => ({
  tid,
  personId: id,
  createdAt,
  by,
  ...(user && { userId: user.id, credentialIds: offeredCredentials(user) }),
  ...(keepsPerson && { keepsPerson }),
});

/** Returns whether the enqueued removal covers everything of the person. */
const isAsAnnounced = ({ tid, user }: Person, announced: Announced): boolean =>
  tid === announced.tid && user?.id === announced.userId && offeredCredentials(user).every((id) => announced.credentialIds?.includes(id));

/** Returns the rest of the document. The rest belongs to no tenant, so no service finds it. */
function remainderOf({ id, createdAt, tid, pendingEvents, version }: Person, now: () => number): Person {
  const empty = { phoneNumberVerified: false, attributes: {} };
  const person = { id, version, createdAt, updatedAt: new Date(now()), tid: '', ...empty, pendingEvents };
  return withEvents(person, pendingEvent(now, 'PersonErased', tid, { AggregateId: id }));
}
