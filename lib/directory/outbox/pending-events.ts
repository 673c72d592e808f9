import type { EventMap } from '../../events.js';
import { present } from '../../present.js';
import type { Outboxed, PendingEvent } from '../../store/records/records.js';
import { newId } from '../identifiers.js';

/** Returns an event that happens now. @param now the time that all nodes share @param tid undefined for an event of no tenant */
export function pendingEvent<Name extends keyof EventMap>(
  now: () => number,
  type: Name,
  tid: string | undefined,
  data: EventMap[Name],
): PendingEvent {
  return { id: newId(), type, time: new Date(now()), subject: data.AggregateId, ...present({ tid }), data: { ...data } };
}

/** Returns the record with events of the same write, so that the store keeps both or neither. */
export function withEvents<R extends object>(record: R & Outboxed, ...events: PendingEvent[]): R & Required<Outboxed> {
  return { ...record, pendingEvents: [...(record.pendingEvents ?? []), ...events], outbox: 'yes' };
}

/** Returns the next form of a record with the events of the change. If nothing changed, returns the same record, which writes nothing. */
export const changed = <R extends object>(record: R & Outboxed, next: R & Outboxed, ...events: PendingEvent[]): R & Outboxed =>
  next === record ? record : withEvents(next, ...events);
