import type { EventMap } from '../events.js';
import type { PendingEvent, Person } from '../store/records.js';
import { newId } from './identifiers.js';

/** An event about a person or their user, of this moment. */
export function pendingEvent<Name extends keyof EventMap>(type: Name, tid: string, data: EventMap[Name]): PendingEvent {
  return { id: newId(), type, time: new Date(), subject: data.AggregateId, tid, data: { ...data } };
}

/** The person with events of the same write: they are kept, or lost, together. */
export function withEvents<P extends Pick<Person, 'pendingEvents' | 'outbox'>>(person: P, ...events: PendingEvent[]): P {
  return { ...person, pendingEvents: [...person.pendingEvents, ...events], outbox: 'yes' };
}
