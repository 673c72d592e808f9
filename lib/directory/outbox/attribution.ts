import { Type } from '@sinclair/typebox';
import type { Attribution } from '../../events.js';
import type { Row, Unsaved } from '../../store/directory-store.js';
import type { CheckedCollection } from '../../store/records/checked-directory.js';
import type { Outboxed, PendingEvent } from '../../store/records/records.js';
import type { Collections } from '../context.js';
import { checkInput, inputSchema, line } from '../input.js';

/** A CloudEvents attribute: one line, without control characters. @see CloudEvents 1.0 §2.3 */
const attribute = () => Type.String({ minLength: 1, maxLength: 256, pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$' });
const attribution = inputSchema({
  actor: Type.Optional(attribute()),
  act: Type.Optional(attribute()),
  requestId: Type.Optional(attribute()),
  metadata: Type.Optional(inputSchema({ ClientId: attribute(), ClientName: line() })),
});

/** @throws IdpError `invalid_record` for what no event can carry. */
export const checkAttribution = (by: Attribution): void => checkInput(attribution, by);

/** The event, with who made the change. */
export const attributedEvent = (event: PendingEvent, { metadata, ...attributes }: Attribution): PendingEvent => ({
  ...event,
  ...attributes,
  data: metadata === undefined ? event.data : { ...event.data, metadata },
});

/** The collections, with who makes their changes: each event that a write adds says so. */
export const attributedCollections = (collections: Collections, by: Attribution): Collections =>
  Object.fromEntries(
    Object.entries(collections).map(([name, rows]) => [name, attributed(rows as CheckedCollection<Row>, by)]),
  ) as unknown as Collections;

/** The next form of a row, whose added events say who made the change. */
export function attributedRow<R extends Row>(next: Unsaved<R>, before: R | undefined, by: Attribution): Unsaved<R> {
  const { pendingEvents } = next as Partial<Outboxed>;
  if (!Array.isArray(pendingEvents)) return next;
  const kept: unknown = (before as Partial<Outboxed> | undefined)?.pendingEvents;
  const known = new Set(Array.isArray(kept) ? kept.map((event: Partial<PendingEvent> | null) => event?.id) : []);
  return { ...next, pendingEvents: pendingEvents.map((event: PendingEvent) => (known.has(event.id) ? event : attributedEvent(event, by))) };
}

function attributed<R extends Row>(rows: CheckedCollection<R>, by: Attribution): CheckedCollection<R> {
  const changed = (change: (row: R) => Unsaved<R>) => (row: R) => {
    const next = change(row);
    return next === row ? row : attributedRow(next, row, by);
  };
  return {
    ...rows,
    insert: (row) => rows.insert(attributedRow(row, undefined, by)),
    retire: (id, events, isMeant) =>
      rows.retire(
        id,
        events.map((event) => attributedEvent(event, by)),
        isMeant,
      ),
    put: (row) => rows.put(attributedRow(row, undefined, by)),
    update: (id, change) => rows.update(id, changed(change)),
    upsert: (id, change) =>
      rows.upsert(id, (row, isUnreadable) =>
        row ? changed((current) => change(current, isUnreadable))(row) : attributedRow<R>(change(undefined, isUnreadable), undefined, by),
      ),
  };
}
