import type { DirectoryStore } from 'tenant-idp';
import type { Row } from 'tenant-idp/store';
import type { EventRecord, Outboxed, PendingEvent } from '../../../lib/store/records/records.js';

/** Returns the stored events of a type, dispatched or not, each once. */
export async function recordedEvents(directory: DirectoryStore, type: string): Promise<readonly PendingEvent[]> {
  const waiting = await Promise.all(
    ['persons', 'accountEvents'].map((name) => directory.collection<Row & Outboxed>(name).find({ byOutbox: ['yes'] })),
  );
  const dispatched = await directory.collection<EventRecord>('events').find({});
  const all = [
    ...waiting.flat().flatMap(({ pendingEvents = [] }) => pendingEvents),
    ...dispatched.map((row) => ({ ...row, id: row.eventId })),
  ];
  return [...new Map(all.filter((event) => event.type === type).map((event) => [event.id, event])).values()];
}
