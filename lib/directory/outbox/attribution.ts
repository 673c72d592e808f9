import { Type } from '@sinclair/typebox';
import type { Attribution } from '../../events.js';
import type { Row, Unsaved } from '../../store/directory-store.js';
import type { CheckedCollection } from '../../store/records/checked-directory.js';
import type { Outboxed, PendingEvent } from '../../store/records/records.js';
import { inputSchema, line } from '../../text/schemas.js';
import type { Collections } from '../context.js';
import { checkInput } from '../input.js';
import { type IsLogged, insertOnce, type MarkedWrite, markedWrite, updateOnce } from './write-once.js';

/** Returns the schema of a CloudEvents attribute: one line, without control characters. @see CloudEvents 1.0 §2.3 */
const attribute = () => Type.String({ minLength: 1, maxLength: 256, pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$' });
const attribution = inputSchema({
  actor: Type.Optional(attribute()),
  act: Type.Optional(attribute()),
  requestId: Type.Optional(attribute()),
  metadata: Type.Optional(inputSchema({ ClientId: attribute(), ClientName: line() })),
  once: Type.Optional(inputSchema({ id: attribute(), isRetry: Type.Boolean() })),
});

/** @throws IdpError `invalid_record` for an attribution that no event can carry. */
export const checkAttribution = (by: Attribution): void => checkInput(attribution, by);

/** Returns the event with the actor of the change. */
export const attributedEvent = (event: PendingEvent, { metadata, once: _, ...attributes }: Attribution): PendingEvent => ({
  ...event,
  ...attributes,
  data: metadata === undefined ? event.data : { ...event.data, metadata },
});

/**
 * Returns the collections with the actor of their changes: each event that a write adds names the actor. A write that an earlier run of the
 * request made is not repeated.
 */
export function attributedCollections(collections: Collections, by: Attribution): Collections {
  const isLogged: IsLogged = (id) => collections.events.has({ byEvent: [id] });
  return Object.fromEntries(
    Object.entries(collections).map(([name, rows]) => [name, attributed(name, rows as CheckedCollection<Row>, by, isLogged)]),
  ) as unknown as Collections;
}

/** Returns the next form of a row, whose added events name the actor of the change. @param write supplies the ids of the events */
export function attributedRow<R extends Row>(next: Unsaved<R>, before: R | undefined, by: Attribution, write?: MarkedWrite): Unsaved<R> {
  const { pendingEvents } = next as Partial<Outboxed>;
  if (!Array.isArray(pendingEvents)) return next;
  const earlier: unknown = (before as Partial<Outboxed> | undefined)?.pendingEvents;
  const earlierIds = new Set(Array.isArray(earlier) ? earlier.map((event: Partial<PendingEvent> | null) => event?.id) : []);
  let index = 0;
  const added = (event: PendingEvent): PendingEvent => attributedEvent(write ? { ...event, id: write.eventId(index++) } : event, by);
  return { ...next, pendingEvents: pendingEvents.map((event: PendingEvent) => (earlierIds.has(event.id) ? event : added(event))) };
}

function attributed<R extends Row>(name: string, rows: CheckedCollection<R>, by: Attribution, isLogged: IsLogged): CheckedCollection<R> {
  const changed = (change: (row: R) => Unsaved<R>, write?: MarkedWrite) => (row: R) => {
    const next = change(row);
    return next === row ? row : attributedRow(next, row, by, write);
  };
  const marked = (id: string) => markedWrite(by.once, [name, id], isLogged);
  return {
    ...rows,
    insert(row) {
      const write = marked(row.id);
      return insertOnce(rows, row.id, () => rows.insert(attributedRow(row, undefined, by, write)), write);
    },
    retire: (id, events, isMeant) =>
      rows.retire(
        id,
        events.map((event) => attributedEvent(event, by)),
        isMeant,
      ),
    put: (row) => rows.put(attributedRow(row, undefined, by)),
    update(id, change) {
      const write = marked(id);
      return updateOnce(rows, id, changed(change, write), write);
    },
    upsert: (id, change) =>
      rows.upsert(id, (row, isUnreadable) =>
        row ? changed((current) => change(current, isUnreadable))(row) : attributedRow<R>(change(undefined, isUnreadable), undefined, by),
      ),
  };
}
