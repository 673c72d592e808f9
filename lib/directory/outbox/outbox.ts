/**
 * The outbox: events and deliveries, kept until listeners and other parties took them.
 *
 * Events are written in the same document as the change that they tell of, then given a number and handed to listeners by one node at a time, under a
 * lease (`outbox`, `event-trials`). `deliveries` is the durable queue for everything else that is sent and tried again, such as logout tokens.
 */

import { IdpError, isToldAlready } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { present } from '../../present.js';
import type { Collection, Row, Unsaved } from '../../store/directory-store.js';
import type { EventRecord, Outboxed, PendingEvent } from '../../store/records/records.js';
import { isRemoved } from '../../store/records/removed-rows.js';
import { isPendingEvent } from '../../store/records/row-checks.js';
import { waitAtMost } from '../../times/at-most.js';
import { nodeTime } from '../../times/node-time.js';
import type { EventLog } from './event-log.js';
import type { EventTrials } from './event-trials.js';

/**
 * Dispatches events. It moves them from the documents of their writes to the one order that every reader follows, calls the listeners of this node, and
 * removes them from the documents once all listeners took them: at least once, whatever crashes in between. One node at a time dispatches, so that each
 * listener is called once; where two do all the same, an event has one number (`event-log`).
 */
export interface Outbox {
  /** Events that are in the documents of their changes, by id. */
  waiting(): Promise<ReadonlySet<string>>;
  /** Begins to dispatch. Events of an earlier process wait for it, so that listeners can be registered first. */
  start(): void;
  /** Has {@link nudge} look into the collection, because a write of this node left events in one of its rows. */
  note(collection: string): void;
  /** Dispatches what was noted, at once. What other nodes wrote, and what failed, is looked for every second. */
  nudge(): void;
  /** Moves the events that are left, then stops. The next start calls listeners that have not taken theirs. */
  close(): Promise<void>;
}

export interface OutboxOptions {
  /** Collections whose rows have events in them, by name. */
  readonly sources: ReadonlyMap<string, SourceRows>;
  readonly log: EventLog;
  readonly trials: EventTrials;
  /** Takes or renews the right to dispatch; false while another node has it. */
  readonly lease: () => Promise<boolean>;
  readonly logger: Logger;
}

/** Documents that are read at once. */
const BATCH = 50;
/** Documents whose listeners are at work, at once. */
const CONCURRENCY = 200;
/** For what another node left behind, and what failed. */
const INTERVAL_MS = 1000;
/** Between two renewals of the lease, which lasts ten times as long. */
const RENEWAL_MS = 1000;
/** How long listeners may take to end when we do. */
const GRACE_MS = 5_000;

export function createOutbox({ sources, log, trials, lease, logger }: OutboxOptions): Outbox {
  /** Documents whose listeners are at work. */
  const working = new Map<string, Promise<void>>();
  /** Documents with nothing to do before an instant, in the version that said so. */
  const held = new Map<string, { readonly version: number; readonly until: number }>();
  /** Collections to look at next. The others are left alone, because each look asks the store. */
  const due = new Set<SourceRows>();
  let running: Promise<void> | undefined;
  let isOpen = false;
  let renewedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  /** Those that all have taken: of a subject, none after one that somebody has not. */
  async function taken(events: readonly EventRecord[]): Promise<readonly EventRecord[]> {
    const subjects = [...new Set(events.map(({ subject }) => subject))];
    const all = await Promise.all(
      subjects.map(async (subject) => {
        const done: EventRecord[] = [];
        for (const event of events.filter((one) => one.subject === subject)) {
          if (!(await trials.attempt(event))) break;
          done.push(event);
        }
        return done;
      }),
    );
    return all.flat();
  }

  async function dispatch(rows: SourceRows, row: Source): Promise<void> {
    const moved: EventRecord[] = [];
    for (const event of eventsOf(row)) moved.push(await log.record(event));
    while (working.size >= CONCURRENCY) await Promise.race(working.values());
    const work = tell(rows, row, moved)
      .catch((err: unknown) => {
        if (!isToldAlready(err)) logger.error({ err, record: row.id }, 'dispatched events could not be removed; another attempt follows');
      })
      .finally(() => working.delete(row.id));
    working.set(row.id, work);
  }

  async function tell(rows: SourceRows, row: Source, events: readonly EventRecord[]): Promise<void> {
    const { id, version } = row;
    const done = await taken(events);
    const isAll = done.length === events.length;
    const until = Math.min(...events.map((event) => trials.dueAt(event.id)).filter((due) => due > 0));
    held.delete(id);
    if (!isAll) held.set(id, { version, until });
    if (done.length === 0 && !isAll) return;
    const left = isAll && isLeftOver(row) && (await rows.remove(id, version)) ? undefined : await removeDispatched(rows, id, done);
    for (const event of done) trials.forget(event.id);
    if (left?.outbox === undefined) held.delete(id);
    else if (!isAll && left.version === version + 1) held.set(id, { version: left.version, until });
    else if (left.version > version) due.add(rows);
    if (isOpen) nudge();
  }

  async function removeDispatched(rows: SourceRows, id: string, done: readonly EventRecord[]): Promise<Source | undefined> {
    const left = await rows.update(id, (row) => without(done, row));
    // A row that was removed while its events were told.
    const isSpent = left !== undefined && isLeftOver(left) && left.pendingEvents?.length === 0;
    return isSpent && (await rows.remove(id, left.version)) ? undefined : left;
  }

  const isHeld = ({ id, version }: Source): boolean => {
    const hold = held.get(id);
    return working.has(id) || (hold !== undefined && hold.version === version && hold.until > nodeTime());
  };

  /** Nothing happens between two records that takes as long as the lease, so it is not asked for at each of the collections. */
  async function isOurs(): Promise<boolean> {
    if (performance.now() - renewedAt < RENEWAL_MS) return true;
    const at = performance.now();
    const isRenewed = await lease();
    if (isRenewed) renewedAt = at;
    return isRenewed;
  }

  async function drain(source: SourceRows): Promise<void> {
    for (let after: string | undefined; await isOurs(); ) {
      const rows = await source.find({ byOutbox: ['yes'] }, { limit: BATCH, ...present({ after }) });
      for (const row of rows) {
        if (isHeld(row)) continue;
        await dispatch(source, row).catch((err: unknown) => {
          if (!(err instanceof IdpError) || err.code === 'store_unavailable') throw err;
          logger.error({ err, record: row.id }, 'events of a record could not be dispatched; another attempt follows');
        });
      }
      if (rows.length < BATCH) return;
      after = rows.at(-1)?.id;
    }
  }

  async function run(): Promise<void> {
    for (const source of due) {
      // First, because what is written from here on may be missed.
      due.delete(source);
      await drain(source);
    }
  }

  function nudge(): void {
    if (due.size === 0) return;
    running ??= run()
      .catch((err: unknown) => {
        due.clear();
        if (!isToldAlready(err)) logger.error({ err }, 'events could not be dispatched; another attempt follows');
      })
      .finally(() => {
        running = undefined;
        if (isOpen) setImmediate(nudge);
      });
  }

  function lookEverywhere(): void {
    for (const source of sources.values()) due.add(source);
    nudge();
  }

  return {
    async waiting() {
      const ids = new Set<string>();
      for (const source of sources.values())
        for (const row of await source.find({ byOutbox: ['yes'] })) for (const { id } of eventsOf(row)) ids.add(id);
      return ids;
    },
    start() {
      isOpen = true;
      timer = setInterval(lookEverywhere, INTERVAL_MS).unref();
      lookEverywhere();
    },
    note(collection) {
      const source = sources.get(collection);
      if (source) due.add(source);
    },
    nudge() {
      if (isOpen) nudge();
    },
    async close() {
      if (!isOpen) return;
      isOpen = false;
      clearInterval(timer);
      lookEverywhere();
      while (running !== undefined) {
        await running;
        await waitAtMost(GRACE_MS, Promise.all(working.values()));
        nudge();
      }
    },
  };
}

/** A record with events in it; of a tenant, or not. */
export type Source = Row & Outboxed & { readonly tid?: string };

export type SourceRows = Pick<Collection<Source>, 'find' | 'update' | 'remove'>;

/** The remainder of an erased person, of a removed row: it has no tenant, and is kept for its last events alone. */
const isLeftOver = (row: Source): boolean => row.tid === '' || isRemoved(row);

/** What of it can be told. */
const eventsOf = ({ pendingEvents }: Outboxed): readonly PendingEvent[] =>
  Array.isArray(pendingEvents) ? pendingEvents.filter(isPendingEvent) : [];

/**
 * Returns the same row, which writes nothing, when another dispatcher removed the events already. What is left of a removed row stays in the outbox until
 * it is removed, because nothing else looks for it.
 */
function without(done: readonly EventRecord[], record: Source): Unsaved<Source> {
  const { outbox, ...row } = record;
  const ids = new Set(done.map(({ eventId }) => eventId));
  const pendingEvents = eventsOf(record).filter(({ id }) => !ids.has(id));
  const isLeft = pendingEvents.length > 0 || isLeftOver(record);
  if (pendingEvents.length === record.pendingEvents?.length && isLeft === (outbox !== undefined)) return record;
  return { ...row, pendingEvents, ...(isLeft && { outbox: 'yes' }) };
}
