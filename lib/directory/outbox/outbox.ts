/**
 * The outbox: events and deliveries, stored until listeners and other parties accept them.
 *
 * Events are written in the same document as their change. Then one node at a time, under a lease, numbers them and hands them to listeners
 * (`outbox`, `event-trials`). `deliveries` is the durable queue for everything else that is sent and retried, such as logout tokens.
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
 * Dispatches events: moves them from the documents of their changes to the one order that every reader follows, and calls the listeners of
 * this node. After all listeners have accepted the events, the outbox removes them from the documents. Each listener is called at least once,
 * even if a node crashes. One node at a time dispatches, so that each listener is usually called once. If two nodes dispatch nevertheless, an event
 * gets one number (`event-log`).
 */
export interface Outbox {
  /** Returns the events that are in the documents of their changes, by id. */
  waiting(): Promise<ReadonlySet<string>>;
  /** Starts to dispatch. Events of an earlier node wait for the start, so that listeners can be registered first. */
  start(): void;
  /**
   * Looks into a collection immediately, because a write left events in one of its rows. The change feed names writes of other nodes within a
   * second. Each second, the outbox looks into collections with failed attempts, and into one other collection in turn, because a node may
   * have been killed between a write and its notice.
   */
  nudge(collection: string): void;
  /** Returns failures of the dispatch. */
  problems(): readonly WorkProblem[];
  /** Dispatches the remaining events, then stops. The next start calls listeners that have not accepted their events. */
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

/** Documents that are read in one call. */
const BATCH = 50;
/** Maximum number of documents whose listeners run at the same time. */
const CONCURRENCY = 200;
/** Milliseconds between two rounds. */
const INTERVAL_MS = 1000;
/** Milliseconds between two looks in turn. Less than an interval, because a timer may be early. */
const LOOK_MS = 0.9 * INTERVAL_MS;
/** Milliseconds after its last round after which a node looks into all collections, because another node may have had the lease. */
const AWAY_MS = 3 * INTERVAL_MS;
/** Milliseconds that listeners may take to end when the service closes. */
const GRACE_MS = 5_000;

export const createOutbox = (parts: OutboxOptions): Outbox => new Dispatcher(parts);

class Dispatcher implements Outbox {
  readonly #parts: OutboxOptions;
  /** Collections to look at next. The others are skipped, because each look costs a call of the store. */
  readonly #due = new Set<SourceRows>();
  readonly #work: Rounds;
  /** Collections that had rows at their last look, or that could not be read. Each round looks at them, so that failed attempts are retried. */
  readonly #waiting = new Set<SourceRows>();
  /** Position of the next look in turn. */
  #turn = 0;
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
        round: 'the service could not dispatch events, and retries',
        row: 'the service could not dispatch the events of a record, and retries',
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
    const time = performance.now();
    if (time - this.#lookedAt >= LOOK_MS) {
      const sources = [...this.#parts.sources.values()];
      for (const source of time - this.#lookedAt >= AWAY_MS ? sources : nextInTurn(sources, this.#turn++)) this.#due.add(source);
      for (const source of this.#waiting) this.#due.add(source);
      this.#lookedAt = time;
    }
    for (const source of this.#due) {
      // The collection is removed first, because a later write may be missed otherwise.
      this.#due.delete(source);
      let isDone = false;
      try {
        isDone = await this.#drain(source, round);
      } finally {
        if (isDone) this.#waiting.delete(source);
        else this.#waiting.add(source);
      }
    }
  }

  /** @returns whether the whole collection was read, and has no row that waits */
  async #drain(source: SourceRows, round: Round): Promise<boolean> {
    let hasRows = false;
    for (let after: string | undefined; await round.goesOn(); ) {
      const rows = await source.find({ byOutbox: ['yes'] }, present({ limit: BATCH, after }));
      hasRows ||= rows.length > 0;
      for (const row of rows) if (round.isReady(row)) await this.#dispatch(source, row, round);
      if (rows.length < BATCH) return !hasRows;
      after = rows.at(-1)?.id;
    }
    return false;
  }

  /** Records the events of a row in their order, then calls the listeners outside the round. */
  async #dispatch(rows: SourceRows, row: Source, round: Round): Promise<void> {
    const recording = this.#record(row);
    const isOfRow = (error: unknown): boolean => error instanceof IdpError && error.code !== 'store_unavailable';
    await recording.catch((error: unknown) => {
      // A problem of one row must not prevent the dispatch of others.
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

  /** Returns the events that all listeners have accepted. Stops, for each subject, at the first event that a listener has not accepted. */
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

/**
 * Returns the collection to look at without a notice. A node may have been killed between a write and its notice. One collection each second keeps an idle
 * node at few calls, and finds the events of such a node after as many seconds as there are collections with events, at most.
 */
const nextInTurn = (sources: readonly SourceRows[], turn: number): readonly SourceRows[] => {
  const at = turn % Math.max(sources.length, 1);
  return sources.slice(at, at + 1);
};

async function removeDispatched(rows: SourceRows, id: string, done: readonly EventRecord[]): Promise<Source | undefined> {
  const left = await rows.update(id, (row) => without(done, row));
  // The row was removed while its events were dispatched.
  const isSpent = left !== undefined && isLeftOver(left) && left.pendingEvents?.length === 0;
  return isSpent && (await rows.remove(id, left.version)) ? undefined : left;
}

/** A row with events in it, of a tenant or not. */
export type Source = Row & Outboxed & { readonly tid?: string };

export type SourceRows = Pick<Collection<Source>, 'find' | 'update' | 'remove'>;

/**
 * Returns whether the row is the remainder of an erased person or of a removed row. A remainder has no tenant, and exists only for its last
 * events.
 */
const isLeftOver = (row: Source): boolean => row.tid === '' || isRemoved(row);

/** Returns the events of a row that can be read. */
const eventsOf = ({ pendingEvents }: Outboxed): readonly PendingEvent[] =>
  Array.isArray(pendingEvents) ? pendingEvents.filter(isPendingEvent) : [];

/**
 * Returns the same row, which writes nothing, if another dispatcher removed the events already. The remainder of a removed row stays in the
 * outbox until it is removed, because nothing else looks for it.
 */
function without(done: readonly EventRecord[], record: Source): Unsaved<Source> {
  const { outbox, ...row } = record;
  const ids = new Set(done.map(({ eventId }) => eventId));
  const pendingEvents = eventsOf(record).filter(({ id }) => !ids.has(id));
  const isLeft = pendingEvents.length > 0 || isLeftOver(record);
  if (pendingEvents.length === record.pendingEvents?.length && isLeft === (outbox !== undefined)) return record;
  return { ...row, pendingEvents, ...(isLeft && { outbox: 'yes' }) };
}
