import { IdpError } from '../../errors.js';
import type { Person } from '../../store/records.js';
import type { DirectoryContext } from '../context.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import { forgetSeeded } from '../seed-ledger.js';

/**
 * Erases a person with their user, credentials and consents, and notifies the clients that the user was signed in to. Links end first, because the
 * erasing write holds only for a user without links. A remainder of the document carries the last events, and is removed with them.
 * @throws IdpError `not_found`.
 */
export type ErasePerson = (personId: string) => Promise<void>;

export function createErasure(
  { collections, nudge, withCutoff, withErasure }: DirectoryContext,
  endLinks: (person: Person) => Promise<void>,
): ErasePerson {
  const { persons, credentials, consents } = collections;

  async function leaveRemainder(personId: string): Promise<Person> {
    for (;;) {
      const person = await persons.get(personId);
      if (person === undefined) throw new IdpError('not_found');
      await endLinks(person);
      for (const id of [personId, ...(person.user ? [person.user.id] : [])]) await forgetSeeded(collections, id);
      let erased: Person | undefined;
      const erase = () =>
        persons.update(personId, (row) => {
          if (row.tid !== person.tid) throw new IdpError('not_found');
          erased = row.user?.parentUserId === undefined && !row.user?.isParent ? row : undefined;
          return erased ? remainderOf(row) : row;
        });
      const ref = { tid: person.tid, personId, ...(person.user && { userId: person.user.id }) };
      await withErasure(ref, () => (person.user ? withCutoff({ oid: person.user.id }, erase) : erase()));
      if (erased) return erased;
    }
  }

  return async (personId) => {
    const { user } = await leaveRemainder(personId);
    nudge();
    if (user === undefined) return;
    await credentials.remove(user.id);
    for (const consent of await consents.find({ byUser: [user.id] })) await consents.remove(consent.id);
  };
}

/** The remainder belongs to no tenant, so no service finds it. */
function remainderOf({ id, createdAt, tid, pendingEvents, version }: Person): Person {
  const empty = { givenName: '', familyName: '', phoneNumberVerified: false, attributes: {} };
  const person = { id, version, createdAt, updatedAt: new Date(), tid: '', ...empty, pendingEvents };
  return withEvents(person, pendingEvent('PersonErased', tid, { AggregateId: id }));
}
