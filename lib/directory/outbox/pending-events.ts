import type { EventMap } from '../../events.js';
import type { PendingEvent } from '../../store/records.js';
import { newId } from '../identifiers.js';

/** An event of this moment. @param tid undefined when it is of no tenant. */
export function pendingEvent<Name extends keyof EventMap>(type: Name, tid: string | undefined, data: EventMap[Name]): PendingEvent {
  return { id: newId(), type, time: new Date(), subject: data.AggregateId, ...(tid === undefined ? {} : { tid }), data: { ...data } };
}

/** The members of a record that keeps events until they are dispatched. */
export interface Outboxed {
  readonly pendingEvents: readonly PendingEvent[];
  readonly outbox?: 'yes';
}

/** The record with events of the same write, so that both are kept or both are lost. */
export function withEvents<R extends Outboxed>(record: R, ...events: PendingEvent[]): R {
  return { ...record, pendingEvents: [...record.pendingEvents, ...events], outbox: 'yes' };
}
