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

/** The record with events of the same write, so that both are kept or both are lost. */
export function withEvents<R extends object>(record: R & Outboxed, ...events: PendingEvent[]): R & Required<Outboxed> {
  return { ...record, pendingEvents: [...(record.pendingEvents ?? []), ...events], outbox: 'yes' };
}

/** The next form of a record with the events of the change; the very record, which writes nothing, when there is none. */
export const changed = <R extends object>(record: R & Outboxed, next: R & Outboxed, ...events: PendingEvent[]): R & Outboxed =>
  next === record ? record : withEvents(next, ...events);
