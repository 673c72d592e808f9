import { IdpError, isToldAlready } from '../errors.js';
import type { EventMap, EventName, IdpEvent } from '../events.js';
import type { Logger } from '../logger.js';
import type { Collection, Row, Unsaved } from '../store/directory-store.js';
import type { EventRecord, PendingEvent } from '../store/records.js';
import type { Collections } from './context.js';
import type { Events } from './event-listeners.js';
import type { Outboxed } from './pending-events.js';

/**
 * Moves events from the documents of their writes to the one order that every reader follows, at least once, then tells the listeners of
 * this node. One node at a time does it, so a number is visible before a higher one is given.
 */
export interface Outbox {
  /** There may be something to move. */
  nudge(): void;
  /** Moves what is left, then stops. */
  close(): Promise<void>;
}

export interface OutboxOptions {
  readonly collections: Pick<Collections, 'persons' | 'signingKeys' | 'events' | 'sequences'>;
  readonly events: Events;
  /** Takes or renews the right to dispatch; false while another node has it. */
  readonly lease: () => Promise<boolean>;
  readonly issuer: string;
  readonly logger: Logger;
}

/** Documents between two renewals of the lease. */
const BATCH = 50;

/** Milliseconds: for what another node left behind. */
const INTERVAL = 1000;

export function createOutbox({ collections, events, lease, issuer, logger }: OutboxOptions): Outbox {
  const { persons, signingKeys, events: records, sequences } = collections;
  let running: Promise<void> | undefined;
  let again = false;
  let closed = false;

  async function nextSequence(): Promise<number> {
    for (;;) {
      const row = await sequences.update('events', ({ last, ...rest }) => ({ ...rest, last: last + 1 }));
      if (row) return row.last;
      await sequences.insert({ id: 'events', last: 0 }).catch(unlessConflict);
    }
  }

  /** The record of the event, which an attempt before this one may have made. */
  async function recordOf(event: PendingEvent): Promise<EventRecord> {
    const known = await records.get(event.id);
    if (known) return known;
    const sequence = await nextSequence();
    const made = await records.insert({ ...event, sequence }).catch(unlessConflict);
    return made ?? (await recordOf(event));
  }

  async function dispatch<R extends Source>(rows: Collection<R>, { id, tid, pendingEvents }: R): Promise<void> {
    const moved: EventRecord[] = [];
    for (const event of pendingEvents) moved.push(await recordOf(event));
    // An erased person, of no tenant, was kept for its last events only.
    await (tid === '' ? rows.remove(id) : rows.update(id, (row) => without(moved, row)));
    for (const event of moved) events.emit(toEvent(event, issuer));
  }

  async function drain<R extends Source>(source: Collection<R>): Promise<void> {
    while (await lease()) {
      const rows = await source.find({ byOutbox: ['yes'] }, { limit: BATCH });
      for (const row of rows) await dispatch(source, row);
      if (rows.length < BATCH) return;
    }
  }

  async function run(): Promise<void> {
    while (again) {
      again = false;
      await drain(persons);
      await drain(signingKeys);
    }
  }

  function nudge(): void {
    again = true;
    running ??= run()
      .catch((error: unknown) => {
        if (!isToldAlready(error)) logger.error({ err: error }, 'events could not be dispatched; another attempt follows');
      })
      .finally(() => {
        running = undefined;
        if (again && !closed) setImmediate(nudge);
      });
  }

  const timer = setInterval(nudge, INTERVAL).unref();
  return {
    nudge: () => {
      if (!closed) nudge();
    },
    async close() {
      closed = true;
      clearInterval(timer);
      do {
        nudge();
        await running;
      } while (again);
    },
  };
}

/** A record with events in it; of a tenant, or not. */
type Source = Row & Outboxed & { readonly tid?: string };

/** The very row, which writes nothing, when another dispatcher struck them off already. */
function without<R extends Source>(moved: readonly PendingEvent[], record: R): Unsaved<R> {
  const { outbox, ...row } = record;
  const done = new Set(moved.map(({ id }) => id));
  const pendingEvents = row.pendingEvents.filter(({ id }) => !done.has(id));
  const isLeft = pendingEvents.length > 0;
  if (pendingEvents.length === row.pendingEvents.length && isLeft === (outbox !== undefined)) return record;
  return { ...row, pendingEvents, ...(outbox && isLeft && { outbox }) } as unknown as Unsaved<R>;
}

/** @see CloudEvents 1.0 §3 */
const toEvent = ({ id, type, time, subject, tid, sequence, data }: EventRecord, source: string): IdpEvent => ({
  specversion: '1.0',
  id,
  source,
  type: type as EventName,
  time: time.toISOString(),
  subject,
  ...(tid === undefined ? {} : { tid }),
  sequence,
  data: data as unknown as EventMap[EventName],
});

function unlessConflict(error: unknown): undefined {
  if (!(error instanceof IdpError && error.code === 'conflict')) throw error;
  return undefined;
}
