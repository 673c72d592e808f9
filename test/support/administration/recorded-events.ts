import type { DirectoryStore } from 'tenant-idp';
import type { EventRecord, PendingEvent, Person } from '../../../lib/store/records/records.js';

/** Events of a type that are kept, dispatched or not, each once. */
export async function recordedEvents(directory: DirectoryStore, type: string): Promise<readonly PendingEvent[]> {
  const persons = await directory.collection<Person>('persons').find({ byOutbox: ['yes'] });
  const dispatched = await directory.collection<EventRecord>('events').find({});
  const all = [...persons.flatMap(({ pendingEvents }) => pendingEvents), ...dispatched.map((row) => ({ ...row, id: row.eventId }))];
  return [...new Map(all.filter((event) => event.type === type).map((event) => [event.id, event])).values()];
}
