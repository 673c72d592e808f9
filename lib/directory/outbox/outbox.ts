/**
 * The outbox: events and deliveries, kept until listeners and other parties took them.
 *
 * Events are written in the same document as the change that they tell of, then given a number and handed to listeners by one node at a time, under a
 * lease (`outbox`, `event-trials`). `deliveries` is the durable queue for everything else that is sent and tried again, such as logout tokens.
 */
import { IdpError, isToldAlready } from '../../errors.js';
import type { Logger } from '../../logger.js';
import type { Collection, Row, Unsaved } from '../../store/directory-store.js';
import type { EventRecord, PendingEvent } from '../../store/records.js';
import { isPendingEvent } from '../../store/row-checks.js';
import type { Collections } from '../context.js';
import { bucketOf } from './event-feed.js';
import type { EventTrials } from './event-trials.js';
import type { Outboxed } from './pending-events.js';

/**
 * Dispatches events. It moves them from the documents of their writes to the one order that every reader follows, calls the listeners of this node, and
 * removes them from the documents once all listeners took them: at least once, whatever crashes in between. One node at a time dispatches, because each
 * number has to be visible before a higher one is given.
 */
export interface Outbox {
  /** Begins to dispatch. Events of an earlier process wait for it, so that listeners can be registered first. */
  start(): void;
  /** Looks for events at once. */
  nudge(): void;
  /** Moves the events that are left, then stops. The next start calls listeners that have not taken theirs. */
  close(): Promise<void>;
}

export interface OutboxOptions {
  readonly collections: Pick<Collections, 'persons' | 'signingKeys' | 'events' | 'sequences'>;
  /** Others whose rows have events in them. */
  readonly sources?: readonly Collection<Source>[];
  readonly trials: EventTrials;
  /** Takes or renews the right to dispatch; false while another node has it. */
  readonly lease: () => Promise<boolean>;
  readonly logger: Logger;
}

/** Documents between two renewals of the lease. */
const BATCH = 50;
/** Documents whose listeners are at work, at once. */
const CONCURRENCY = 200;
/** For what another node left behind, and what failed. */
const INTERVAL_MS = 1000;
/** How long listeners may take to end when we do. */
const GRACE_MS = 5_000;

export function createOutbox({ collections, sources = [], trials, lease, logger }: OutboxOptions): Outbox {
  const { persons, signingKeys, events: records, sequences } = collections;
  /** Documents whose listeners are at work. */
  const working = new Map<string, Promise<void>>();
  /** Documents with nothing to do before an instant, in the version that said so. */
  const held = new Map<string, { readonly version: number; readonly until: number }>();
  let running: Promise<void> | undefined;
  let again = false;
  let isOpen = false;
  let timer: NodeJS.Timeout | undefined;

  async function nextSequence(): Promise<number> {
    // After a number that cannot be read, no count of events reaches as far as the clock.
    const first = (isUnreadable: boolean) => ({ id: 'events', last: isUnreadable ? Date.now() : 1 });
    const { last } = await sequences.upsert('events', (row, isUnreadable) => (row ? { ...row, last: row.last + 1 } : first(isUnreadable)));
    return last;
  }

  /** The record of the event, which an attempt before this one may have made. */
  async function recordOf(event: PendingEvent): Promise<EventRecord> {
    const known = await records.get(event.id);
    if (known) return known;
    const sequence = await nextSequence();
    const made = await records.insert({ ...event, sequence, bucket: bucketOf(sequence) }).catch(IdpError.unless('conflict'));
    return made ?? (await records.get(event.id)) ?? records.put({ ...event, sequence, bucket: bucketOf(sequence) });
  }

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

  async function dispatch<R extends Source>(rows: Collection<R>, row: R): Promise<void> {
    const moved: EventRecord[] = [];
    for (const event of eventsOf(row)) moved.push(await recordOf(event));
    while (working.size >= CONCURRENCY) await Promise.race(working.values());
    const work = tell(rows, row, moved)
      .catch((err: unknown) => {
        if (!isToldAlready(err)) logger.error({ err, record: row.id }, 'events could not be struck off; another attempt follows');
      })
      .finally(() => working.delete(row.id));
    working.set(row.id, work);
  }

  async function tell<R extends Source>(rows: Collection<R>, { id, tid, version }: R, events: readonly EventRecord[]): Promise<void> {
    const done = await taken(events);
    const isAll = done.length === events.length;
    const until = Math.min(...events.map((event) => trials.dueAt(event.id)).filter((due) => due > 0));
    held.delete(id);
    if (!isAll) held.set(id, { version, until });
    if (done.length === 0 && !isAll) return;
    // The remainder of an erased person has no tenant, and was kept for its last events only.
    const left = tid === '' && isAll ? await rows.remove(id).then(() => undefined) : await rows.update(id, (row) => without(done, row));
    for (const event of done) trials.forget(event.id);
    if (left?.outbox === undefined) held.delete(id);
    else if (!isAll && left.version === version + 1) held.set(id, { version: left.version, until });
    else if (left.version > version) again = true;
    if (again && isOpen) nudge();
  }

  const isHeld = ({ id, version }: Source): boolean => {
    const hold = held.get(id);
    return working.has(id) || (hold !== undefined && hold.version === version && hold.until > Date.now());
  };

  async function drain<R extends Source>(source: Collection<R>): Promise<void> {
    for (let after: string | undefined; await lease(); ) {
      const rows = await source.find({ byOutbox: ['yes'] }, { limit: BATCH, ...(after === undefined ? {} : { after }) });
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
    while (again) {
      again = false;
      await drain(persons);
      await drain(signingKeys);
      for (const source of sources) await drain(source);
    }
  }

  function nudge(): void {
    again = true;
    running ??= run()
      .catch((err: unknown) => {
        if (!isToldAlready(err)) logger.error({ err }, 'events could not be dispatched; another attempt follows');
      })
      .finally(() => {
        running = undefined;
        if (again && isOpen) setImmediate(nudge);
      });
  }

  return {
    start() {
      isOpen = true;
      timer = setInterval(nudge, INTERVAL_MS).unref();
      nudge();
    },
    nudge() {
      if (isOpen) nudge();
    },
    async close() {
      if (!isOpen) return;
      isOpen = false;
      clearInterval(timer);
      do {
        nudge();
        await running;
        await settled(working.values());
      } while (again);
    },
  };
}

async function settled(work: Iterable<Promise<void>>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, GRACE_MS);
  });
  await Promise.race([Promise.all(work), late]);
  clearTimeout(timer);
}

/** A record with events in it; of a tenant, or not. */
export type Source = Row & Outboxed & { readonly tid?: string };

/** What of it can be told. */
const eventsOf = ({ pendingEvents }: Outboxed): readonly PendingEvent[] =>
  Array.isArray(pendingEvents) ? pendingEvents.filter(isPendingEvent) : [];

/** Returns the same row, which writes nothing, when another dispatcher removed the events already. */
function without<R extends Source>(done: readonly PendingEvent[], record: R): Unsaved<R> {
  const { outbox, ...row } = record;
  const ids = new Set(done.map(({ id }) => id));
  const pendingEvents = eventsOf(record).filter(({ id }) => !ids.has(id));
  const isLeft = pendingEvents.length > 0;
  if (pendingEvents.length === record.pendingEvents?.length && isLeft === (outbox !== undefined)) return record;
  return { ...row, pendingEvents, ...(outbox && isLeft && { outbox }) } as unknown as Unsaved<R>;
}
