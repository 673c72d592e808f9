import { retryAfterMs } from '../../background/back-off.js';
import { type Round, type Rounds, rounds, type WorkProblem } from '../../background/rounds.js';
import type { Logger } from '../../logger.js';
import { present } from '../../present.js';
import type { Collection, Page } from '../../store/directory-store.js';
import type { Delivery } from '../../store/records/records.js';
import { instantOfId, newIdAt } from '../identifiers.js';
import { newRecord } from '../input.js';

/**
 * Messages to other parties. Any node sends them, at least once, until the other party accepts them. A delivery that is enqueued before the change it
 * announces is held for a moment, so that it arrives after the change. Ids carry the due time, and a postponed delivery gets another id. A look-up in the
 * order of the ids therefore ends at the first delivery that is not due, however many wait.
 */
export interface Deliveries {
  /**
   * Registers the sender of a kind. The sender rejects if a delivery was not accepted. Deliveries of a kind without a sender wait.
   * @param backOffSeconds before the second attempt, the third …; after the last attempt, a delivery is given up. @default about eight
   * hours in all
   */
  handle(kind: string, send: (delivery: Delivery) => Promise<void>, backOffSeconds?: readonly number[]): void;
  enqueue(deliveries: readonly NewDelivery[]): Promise<Enqueued>;
  /** Returns the deliveries of a batch that were not accepted yet. */
  pending(batch: string): Promise<readonly Delivery[]>;
  /** Returns deliveries that were given up. Each of these deliveries stays for a week. */
  dead(page?: Page): Promise<readonly Delivery[]>;
  /** Retries a delivery that was given up, under another id, starting with its first attempt. Returns false if there is none. */
  retry(id: string): Promise<boolean>;
}

export type NewDelivery = Pick<Delivery, 'kind' | 'data' | 'batch'>;

export interface Enqueued {
  /** Sends the deliveries now, because the change is written. */
  release(): void;
  /** Removes the deliveries, because the change was refused. */
  withdraw(): Promise<void>;
}

/** {@link Deliveries}, with the background work that sends them. */
export interface DeliveryQueue extends Deliveries {
  /** Returns failures other than deliveries that were not accepted. */
  problems(): readonly WorkProblem[];
  /** Waits for attempts under way. The next start continues with the rest. */
  close(): Promise<void>;
}

/** Milliseconds that a delivery is held before its change is released. */
const HELD_MS = 2_000;
/** Milliseconds that a node may take for an attempt, more than any attempt needs. After this time, another node takes over. */
const CLAIMED_MS = 45_000;
const KEPT_WHEN_DEAD_MS = 7 * 86_400_000;
/** Rounds between two searches for deliveries that were given up a week ago. */
const ROUNDS_TO_TIDYING = 30;

/** Two seconds, because deliveries of another node that was killed may be a second late. */
const INTERVAL_MS = 2_000;
/** Least milliseconds until a look-up, because timers may be early. */
const SOONEST_MS = 10;

const PAGE = 100;
/** Maximum number of attempts at the same time. */
const CONCURRENCY = 16;

export interface DeliveriesParts {
  readonly logger: Logger;
  /** Returns the time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
  /** Milliseconds between two look-ups of due deliveries, except that a delivery that is due earlier is looked up when it is due. @default 2000 */
  readonly interval?: number;
}

export function createDeliveries(rows: Collection<Delivery>, parts: DeliveriesParts): DeliveryQueue {
  const queue = new Queue(rows, parts);
  return {
    handle: (kind, send, backOffSeconds) => queue.handle(kind, send, backOffSeconds),
    enqueue: (deliveries) => queue.enqueue(deliveries),
    pending: (batch) => queue.pending(batch),
    dead: (page) => queue.dead(page),
    retry: (id) => queue.retry(id),
    problems: () => queue.problems(),
    close: () => queue.close(),
  };
}

type Send = (delivery: Delivery) => Promise<void>;

class Queue implements DeliveryQueue {
  readonly #rows: Collection<Delivery>;
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #interval: number;
  readonly #handlers = new Map<string, { readonly send: Send; readonly backOffSeconds: readonly number[] | undefined }>();
  readonly #work: Rounds;
  #rounds = 0;

  constructor(rows: Collection<Delivery>, { logger, now, interval = INTERVAL_MS }: DeliveriesParts) {
    this.#rows = rows;
    this.#logger = logger;
    this.#now = now;
    this.#interval = interval;
    this.#work = rounds({
      name: 'deliveries',
      every: interval,
      first: interval,
      run: (round) => this.#round(round),
      atOnce: CONCURRENCY,
      logger,
      messages: { round: 'the service could not read deliveries, and retries', row: 'the service could not record a delivery' },
    });
    this.#work.start();
  }

  handle(kind: string, send: Send, backOffSeconds?: readonly number[]): void {
    this.#handlers.set(kind, { send, backOffSeconds });
  }

  async enqueue(deliveries: readonly NewDelivery[]): Promise<Enqueued> {
    const due = new Date(this.#now() + HELD_MS);
    const made = await Promise.all(
      deliveries.map((delivery) =>
        this.#rows.insert(newRecord(this.#now, newIdAt(due), { ...delivery, state: 'waiting' as const, attempts: 0, due })),
      ),
    );
    return {
      release: () => {
        for (const delivery of made) void this.#begin(delivery);
      },
      withdraw: async () => {
        await Promise.all(made.map(({ id }) => this.#rows.remove(id)));
      },
    };
  }

  async pending(batch: string): Promise<readonly Delivery[]> {
    return (await this.#rows.find({ byBatch: [batch] })).filter(({ state }) => state === 'waiting');
  }

  dead(page?: Page): Promise<readonly Delivery[]> {
    return this.#rows.find({ byState: ['dead'] }, page);
  }

  async retry(id: string): Promise<boolean> {
    const delivery = await this.#rows.get(id);
    if (delivery?.state !== 'dead') return false;
    const isMoved = await this.#move({ ...delivery, state: 'waiting', attempts: 0, due: new Date(this.#now()) });
    this.#work.nudge();
    return isMoved;
  }

  problems(): readonly WorkProblem[] {
    return this.#work.problems();
  }

  close(): Promise<void> {
    return this.#work.close();
  }

  /** @returns milliseconds until the first delivery is due, if that is before the next round */
  async #round(round: Round): Promise<number | undefined> {
    if (this.#rounds++ % ROUNDS_TO_TIDYING === 0) await this.#dueRows('dead', round, ({ id }) => this.#rows.remove(id));
    const next = await this.#dueRows('waiting', round, (delivery) => this.#begin(delivery));
    return next === undefined ? undefined : Math.min(Math.max(next - this.#now(), SOONEST_MS), this.#interval);
  }

  /** @returns the time at which the first row is due that is not due yet */
  async #dueRows(state: Delivery['state'], round: Round, use: (delivery: Delivery) => Promise<unknown>): Promise<number | undefined> {
    // Usually no delivery is due, and one row shows that.
    for (let limit = 1, after: string | undefined; ; limit = PAGE) {
      const page = await this.#rows.find({ byState: [state] }, present({ limit, after }));
      for (const delivery of page) {
        const due = instantOfId(delivery.id) ?? 0;
        if (round.signal.aborted || due > this.#now()) return due;
        if (delivery.due.getTime() <= this.#now()) await use(delivery);
      }
      after = page.at(-1)?.id;
      if (page.length < limit) return undefined;
    }
  }

  #begin(delivery: Delivery): Promise<boolean> {
    return this.#work.attempt(delivery, () => this.#send(delivery));
  }

  async #send(delivery: Delivery): Promise<undefined> {
    const handler = this.#handlers.get(delivery.kind);
    if (!handler || !(await this.#claim(delivery))) return;
    try {
      await handler.send(delivery);
    } catch (error) {
      await this.#postpone(delivery, error, handler.backOffSeconds);
      return;
    }
    await this.#rows.remove(delivery.id);
  }

  /** Claims an attempt. Returns false if another node was faster. */
  async #claim({ id, version }: Delivery): Promise<boolean> {
    let isOurs = false;
    await this.#rows.update(id, (row) => {
      isOurs = row.version === version && row.state === 'waiting';
      return isOurs ? { ...row, due: new Date(this.#now() + CLAIMED_MS), updatedAt: new Date(this.#now()) } : row;
    });
    return isOurs;
  }

  async #postpone(delivery: Delivery, error: unknown, backOffSeconds: readonly number[] | undefined): Promise<void> {
    const { id, kind, attempts } = delivery;
    const wait = retryAfterMs(attempts, backOffSeconds);
    const state = wait === undefined ? 'dead' : 'waiting';
    const problem = error instanceof Error ? error.message : String(error);
    const due = new Date(this.#now() + (wait ?? KEPT_WHEN_DEAD_MS));
    await this.#move({ ...delivery, state, problem, attempts: attempts + 1, due });
    // The look-up finds when the retry is due.
    if (state === 'waiting') this.#work.nudge();
    this.#logger.warn(
      { delivery: id, kind, problem },
      state === 'dead' ? 'the service gave up a delivery' : 'a delivery failed, and the service retries',
    );
  }

  /** Moves a delivery to the id of its due time. A crash during the move leaves two copies; the other order could lose the delivery. */
  async #move(delivery: Delivery): Promise<boolean> {
    const moved = await this.#rows.insert({ ...delivery, id: newIdAt(delivery.due), updatedAt: new Date(this.#now()) });
    const wasThere = await this.#rows.remove(delivery.id);
    if (!wasThere) await this.#rows.remove(moved.id);
    return wasThere;
  }
}
