/**
 * The outbox: events and deliveries, kept until listeners and other parties took them.
 *
 * Events are written in the same document as the change that they tell of, then given a number and handed to listeners by one node at a time, under a
 * lease (`outbox`, `event-trials`). `deliveries` is the durable queue for everything else that is sent and tried again, such as logout tokens.
 */

import { type Round, type Rounds, rounds, type WorkProblem } from '../../background/rounds.js';
import type { Pause } from '../../background/row-attempts.js';
import type { Lease } from '../../background/tenure.js';
import { IdpError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { present } from '../../present.js';
import type { Collection, Row, Unsaved } from '../../store/directory-store.js';
import type { EventRecord, Outboxed, PendingEvent } from '../../store/records/records.js';
import { isRemoved } from '../../store/records/removed-rows.js';
import { isPendingEvent } from '../../store/records/row-checks.js';
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
  /**
   * Looks into a collection immediately, because a write of this node left events in one of its rows. Every second, the outbox looks for what other nodes
   * wrote, and for what failed.
   */
  nudge(collection: string): void;
  /** What fails. */
  problems(): readonly WorkProblem[];
  /** Moves the events that are left, then stops. The next start calls listeners that have not taken theirs. */
  close(): Promise<void>;
}

export interface OutboxOptions {
  /** Collections whose rows have events in them, by name. */
  readonly sources: ReadonlyMap<string, SourceRows>;
  readonly log: EventLog;
  readonly trials: EventTrials;
  readonly lease: Lease;
  readonly logger: Logger;
}

/** Documents that are read at once. */
const BATCH = 50;
/** Documents whose listeners are at work, at once. */
const CONCURRENCY = 200;
/** For what another node left behind, and what failed. */
const INTERVAL_MS = 1000;
/** Milliseconds between two looks into all collections: a timer may be early. */
const LOOK_MS = 0.9 * INTERVAL_MS;
/** How long listeners may take to end when the service closes. */
const GRACE_MS = 5_000;

export const createOutbox = (parts: OutboxOptions): Outbox => new Dispatcher(parts);

class Dispatcher implements Outbox {
  readonly #parts: OutboxOptions;
  /** Collections to look at next. The others are left alone, because each look asks the store. */
  readonly #due = new Set<SourceRows>();
  readonly #work: Rounds;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: OutboxOptions) {
    this.#parts = parts;
    this.#work = rounds({
      name: 'events',
      every: INTERVAL_MS,
      lease: parts.lease,
      run: (round) => this.#round(round),
      atOnce: CONCURRENCY,
      isDrained: true,
      graceMs: GRACE_MS,
      logger: parts.logger,
      messages: {
        round: 'events could not be dispatched; another attempt follows',
        row: 'events of a record could not be dispatched; another attempt follows',
      },
    });
  }

  async waiting(): Promise<ReadonlySet<string>> {
    const ids = new Set<string>();
    for (const source of this.#parts.sources.values())
      for (const row of await source.find({ byOutbox: ['yes'] })) for (const { id } of eventsOf(row)) ids.add(id);
    return ids;
  }

  start(): void {
    this.#work.start();
  }

  nudge(collection: string): void {
    const source = this.#parts.sources.get(collection);
    if (!source) return;
    this.#due.add(source);
    this.#work.nudge();
  }

  problems(): readonly WorkProblem[] {
    return this.#work.problems();
  }

  close(): Promise<void> {
    this.#lookedAt = Number.NEGATIVE_INFINITY;
    return this.#work.close();
  }

  async #round(round: Round): Promise<undefined> {
    if (performance.now() - this.#lookedAt >= LOOK_MS) {
      this.#lookedAt = performance.now();
      for (const source of this.#parts.sources.values()) this.#due.add(source);
    }
    for (const source of this.#due) {
      // First, because what is written from here on may be missed.
      this.#due.delete(source);
      await this.#drain(source, round);
    }
  }

  async #drain(source: SourceRows, round: Round): Promise<void> {
    for (let after: string | undefined; await round.goesOn(); ) {
      const rows = await source.find({ byOutbox: ['yes'] }, present({ limit: BATCH, after }));
      for (const row of rows) if (round.isReady(row)) await this.#dispatch(source, row, round);
      if (rows.length < BATCH) return;
      after = rows.at(-1)?.id;
    }
  }

  /** Records the events of a row in their order, then has the listeners called beside the round. */
  async #dispatch(rows: SourceRows, row: Source, round: Round): Promise<void> {
    const recording = this.#record(row);
    const isOfRow = (error: unknown): boolean => error instanceof IdpError && error.code !== 'store_unavailable';
    await recording.catch((error: unknown) => {
      // What is wrong with the row itself keeps no other from being dispatched.
      if (!isOfRow(error)) throw error;
    });
    await round.attempt(row, async () => this.#tell(rows, row, await recording));
  }

  async #record(row: Source): Promise<readonly EventRecord[]> {
    const records: EventRecord[] = [];
    for (const event of eventsOf(row)) records.push(await this.#parts.log.record(event));
    return records;
  }

  async #tell(rows: SourceRows, row: Source, events: readonly EventRecord[]): Promise<Pause | undefined> {
    const { id, version } = row;
    const { trials } = this.#parts;
    const done = await this.#taken(events);
    const isAll = done.length === events.length;
    const until = Math.min(...events.map((event) => trials.dueAt(event.id)).filter((due) => due > 0));
    const pause = { forMs: until - nodeTime() };
    if (done.length === 0 && !isAll) return pause;
    const left = isAll && isLeftOver(row) && (await rows.remove(id, version)) ? undefined : await removeDispatched(rows, id, done);
    for (const event of done) trials.forget(event.id);
    if (left?.outbox === undefined) return undefined;
    if (!isAll && left.version === version + 1) return { ...pause, version: left.version };
    if (left.version > version) this.#due.add(rows);
    this.#work.nudge();
    return undefined;
  }

  /** Returns the events that all listeners have taken: of a subject, none after one that somebody has not. */
  async #taken(events: readonly EventRecord[]): Promise<readonly EventRecord[]> {
    const subjects = [...new Set(events.map(({ subject }) => subject))];
    const all = await Promise.all(
      subjects.map(async (subject) => {
        const done: EventRecord[] = [];
        for (const event of events.filter((one) => one.subject === subject)) {
          if (!(await this.#parts.trials.attempt(event))) break;
          done.push(event);
        }
        return done;
      }),
    );
    return all.flat();
  }
}

async function removeDispatched(rows: SourceRows, id: string, done: readonly EventRecord[]): Promise<Source | undefined> {
  const left = await rows.update(id, (row) => without(done, row));
  // A row that was removed while its events were told.
  const isSpent = left !== undefined && isLeftOver(left) && left.pendingEvents?.length === 0;
  return isSpent && (await rows.remove(id, left.version)) ? undefined : left;
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
