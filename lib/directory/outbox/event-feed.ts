import { IdpError } from '../../errors.js';
import type { IdpEvent } from '../../events.js';
import { present } from '../../present.js';
import type { Collection, Where } from '../../store/directory-store.js';
import { type LeftOutRow, leftOutIn } from '../../store/records/left-out.js';
import type { EventRecord } from '../../store/records/records.js';
import { type EventLog, isSequence, sequenceOf } from './event-log.js';
import { toEvent } from './event-trials.js';

/** All events in their order, for readers at their own pace. */
export interface EventFeed {
  /**
   * Returns events after a cursor, in order; without a cursor, from the oldest stored event. No later event gets a lower number than an
   * event that was read.
   * @throws IdpError `invalid_record` for an invalid cursor or limit; `cursor_expired` when events after the cursor were removed.
   */
  read(query?: EventQuery): Promise<EventPage>;
  /** Returns the cursor after the last event. */
  head(): Promise<string>;
  /** Removes expired events (`lifetimes.events`), the oldest first. The last event stays, because it has the last number. */
  prune(options?: PruneOptions): Promise<void>;
}

export interface EventQuery {
  /** The `sequence` of the last event that was read, or `next` of a page. */
  readonly after?: string;
  /** Maximum number of events, 1 to 1000. @default 100 */
  readonly limit?: number;
  /** Returns only events of this tenant. @default all, and events of no tenant */
  readonly tid?: string;
  /** Returns only events of these types. @default all */
  readonly types?: readonly string[];
}

export interface PruneOptions {
  /** Keeps events after this cursor, because a reader has not read them yet. */
  readonly keepAfter?: string | undefined;
  readonly signal?: AbortSignal;
}

export interface EventPage {
  readonly events: readonly IdpEvent[];
  /** Cursor for the next page. The cursor also skips events that the query leaves out. */
  readonly next: string;
  /** Unreadable events that the page leaves out, by `sequence`, each with a JSON Pointer to its malformed part. Absent if all events can be read. */
  readonly unreadable?: Pick<LeftOutRow, 'id' | 'path'>[];
}

const MAX_LIMIT = 1000;
const PRUNED_AT_ONCE = 200;

export interface EventFeedParts {
  readonly records: Pick<Collection<EventRecord>, 'find' | 'remove'>;
  readonly log: EventLog;
  readonly issuer: string;
  /** Returns the time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
  /** Seconds that events are kept. */
  readonly retention: number;
  /** Returns events that are still in the documents of their changes, by id. */
  readonly waiting: () => Promise<ReadonlySet<string>>;
}

export function createEventFeed({ records: { find, remove }, log: { head }, issuer, now, retention, waiting }: EventFeedParts): EventFeed {
  return {
    head: async () => sequenceOf(await head()),

    async prune({ keepAfter, signal } = {}) {
      const before = now() - retention * 1000;
      const last = sequenceOf(await head());
      const isOld = ({ id, recordedAt }: EventRecord) =>
        recordedAt.getTime() < before && id < last && (keepAfter === undefined || id <= keepAfter);
      while (!signal?.aborted) {
        const page = await find({}, { limit: PRUNED_AT_ONCE });
        const old = page.slice(0, lengthOf(page, isOld));
        // A dispatcher that does not find the event would give it another number.
        const unfinished = old.length > 0 ? await waiting() : new Set();
        const gone = old.slice(
          0,
          lengthOf(old, ({ eventId }) => !unfinished.has(eventId)),
        );
        for (const { id } of gone) await remove(id);
        if (gone.length < PRUNED_AT_ONCE) return;
      }
    },

    async read({ after, limit = 100, tid, types } = {}) {
      if (after !== undefined && !isSequence(after))
        throw new IdpError('invalid_record', { path: '/after', expected: 'a cursor of the feed' });
      if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
        throw new IdpError('invalid_record', { path: '/limit', expected: `1 to ${MAX_LIMIT}` });
      // One look-up may see an event that is recorded during the look-ups while another look-up does not. The next page has such an event.
      const last = sequenceOf(await head());
      const page = { limit, ...present({ after }) };
      const pages = await Promise.all(lookupsOf(tid, types).map((where) => find(where, page)));
      if (after !== undefined) await checkKept(after);
      const events = pages
        .flat()
        .filter(({ id }) => id <= last)
        .sort(inOrder)
        .slice(0, limit);
      const isWhole = events.length < limit;
      const end = after !== undefined && after > last ? after : last;
      const next = isWhole ? end : (events.at(-1)?.id ?? end);
      // A look-up that found unreadable events read more events in their place.
      const unreadable = (leftOutIn(...pages).unreadable ?? []).filter(({ id }) => id <= next);
      return { events: events.map((record) => toEvent(record, issuer)), next, ...(unreadable.length > 0 && { unreadable }) };
    },
  };

  async function checkKept(after: string): Promise<void> {
    const [oldest] = await find({}, { limit: 1 });
    if (oldest && Number(oldest.id) > Number(after) + 1) throw new IdpError('cursor_expired', { oldest: oldest.id });
  }
}

function lookupsOf(tid: string | undefined, types: readonly string[] | undefined): readonly Where[] {
  if (types === undefined) return [tid === undefined ? {} : { byTenant: [tid] }];
  return [...new Set(types)].map((type): Where => (tid === undefined ? { byType: [type] } : { byTenantAndType: [tid, type] }));
}

/** Returns the number of rows before the first row that does not match. */
function lengthOf<R>(rows: readonly R[], holds: (row: R) => boolean): number {
  const end = rows.findIndex((row) => !holds(row));
  return end < 0 ? rows.length : end;
}

const inOrder = (one: EventRecord, other: EventRecord): number => (one.id < other.id ? -1 : 1);
