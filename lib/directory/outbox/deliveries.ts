import { isToldAlready } from '../../errors.js';
import type { Logger } from '../../logger.js';
import type { Collection, Page } from '../../store/directory-store.js';
import type { Delivery } from '../../store/records/records.js';
import { instantOfId, newIdAt } from '../identifiers.js';
import { newRecord } from '../input.js';

/**
 * Messages to other parties, sent by any node, at least once, until the other party took them. A delivery that is enqueued before the change it
 * announces is held for a moment, so that it arrives after the change. Ids carry the due time. A look-up in their order therefore ends at the first
 * delivery that is not due, however many wait, and a delivery that is put off gets another id.
 */
export interface Deliveries {
  /**
   * Registers the sender of a kind, which rejects when a delivery was not taken. Deliveries of a kind without a sender wait.
   * @param backOffSeconds before the second attempt, the third …; after the last, a delivery is given up. @default about eight hours in all
   */
  handle(kind: string, send: (delivery: Delivery) => Promise<void>, backOffSeconds?: readonly number[]): void;
  enqueue(deliveries: readonly NewDelivery[]): Promise<Enqueued>;
  /** Those of a batch that were not taken yet. */
  pending(batch: string): Promise<readonly Delivery[]>;
  /** Those that were given up, for a week. */
  dead(page?: Page): Promise<readonly Delivery[]>;
  /** Sends a delivery that was given up once more, under another id, from its first attempt on. False when there is none. */
  retry(id: string): Promise<boolean>;
}

export type NewDelivery = Pick<Delivery, 'kind' | 'data' | 'batch'>;

export interface Enqueued {
  /** The change is there: sends them now. */
  release(): void;
  /** The change was refused, so there is nothing to send. */
  withdraw(): Promise<void>;
}

/** {@link Deliveries}, and the loop behind them. */
export interface DeliveryQueue extends Deliveries {
  /** Waits for attempts under way. The next start goes on with the rest. */
  close(): Promise<void>;
}

/** Milliseconds. */
const HELD_MS = 2_000;
/** Longer than any attempt. After it another node takes over. */
const CLAIMED_MS = 45_000;
const KEPT_WHEN_DEAD_MS = 7 * 86_400_000;
/** Seconds before the second attempt, the third … */
const BACK_OFF_SECONDS = [5, 30, 120, 600, 3_600, 21_600];

const PAGE = 100;
/** Attempts at once. */
const CONCURRENCY = 16;

export interface DeliveriesParts {
  readonly logger: Logger;
  /** The time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
  /** Milliseconds between two look-ups of due deliveries. @default 1000 */
  readonly interval?: number;
}

export function createDeliveries(rows: Collection<Delivery>, { logger, now, interval = 1_000 }: DeliveriesParts): DeliveryQueue {
  const handlers = new Map<string, { readonly send: (delivery: Delivery) => Promise<void>; readonly backOffSeconds: readonly number[] }>();
  const attempts = new Set<Promise<void>>();
  let running: Promise<void> | undefined;
  let closed = false;

  /** Claims an attempt, unless another node was faster. */
  async function claim({ id, version }: Delivery): Promise<boolean> {
    let mine = false;
    await rows.update(id, (row) => {
      mine = row.version === version && row.state === 'waiting';
      return mine ? { ...row, due: new Date(now() + CLAIMED_MS), updatedAt: new Date(now()) } : row;
    });
    return mine;
  }

  async function attempt(delivery: Delivery): Promise<void> {
    const handler = handlers.get(delivery.kind);
    if (!handler || !(await claim(delivery))) return;
    try {
      await handler.send(delivery);
    } catch (error) {
      return postpone(delivery, error, handler.backOffSeconds);
    }
    await rows.remove(delivery.id);
  }

  async function postpone(delivery: Delivery, error: unknown, backOffSeconds: readonly number[]): Promise<void> {
    const { id, kind, attempts: before } = delivery;
    const seconds = backOffSeconds[before];
    const state = seconds === undefined ? 'dead' : 'waiting';
    const wait = seconds === undefined ? KEPT_WHEN_DEAD_MS : seconds * 1000 * (0.75 + Math.random() / 2);
    const problem = error instanceof Error ? error.message : String(error);
    await move({ ...delivery, state, problem, attempts: before + 1, due: new Date(now() + wait) });
    logger.warn({ delivery: id, kind, problem }, state === 'dead' ? 'delivery given up' : 'delivery failed; another attempt follows');
  }

  /** Moves a delivery to the id of its due time. A crash in between leaves two copies, because none would lose the delivery. */
  async function move(delivery: Delivery): Promise<boolean> {
    const moved = await rows.insert({ ...delivery, id: newIdAt(delivery.due), updatedAt: new Date(now()) });
    const wasThere = await rows.remove(delivery.id);
    if (!wasThere) await rows.remove(moved.id);
    return wasThere;
  }

  async function start(delivery: Delivery): Promise<void> {
    while (attempts.size >= CONCURRENCY) await Promise.race(attempts);
    const running = attempt(delivery)
      .catch((error: unknown) => {
        if (!isToldAlready(error)) logger.error({ err: error, delivery: delivery.id }, 'delivery could not be recorded');
      })
      .finally(() => attempts.delete(running));
    attempts.add(running);
  }

  async function dueRows(state: Delivery['state'], use: (delivery: Delivery) => Promise<unknown>): Promise<void> {
    // Mostly nothing is due, which one row tells.
    for (let limit = 1, after: string | undefined; ; limit = PAGE) {
      const page = await rows.find({ byState: [state] }, { limit, ...(after ? { after } : {}) });
      for (const delivery of page) {
        if (closed || (instantOfId(delivery.id) ?? 0) > now()) return;
        if (delivery.due.getTime() <= now()) await use(delivery);
      }
      after = page.at(-1)?.id;
      if (page.length < limit) return;
    }
  }

  let rounds = 0;
  /** An outage is told once. */
  let isAway = false;
  function poll(): void {
    if (closed) return;
    const isMinute = rounds++ % 60 === 0;
    running ??= (isMinute ? dueRows('dead', ({ id }) => rows.remove(id)) : Promise.resolve())
      .then(() => dueRows('waiting', start))
      .then(
        () => {
          isAway = false;
        },
        (error: unknown) => {
          if (!isAway && !isToldAlready(error)) logger.warn({ err: error }, 'deliveries could not be read; another attempt follows');
          isAway = true;
        },
      )
      .finally(() => {
        running = undefined;
      });
  }
  const timer = setInterval(poll, interval).unref();

  return {
    handle: (kind, send, backOffSeconds = BACK_OFF_SECONDS) => void handlers.set(kind, { send, backOffSeconds }),

    async enqueue(deliveries) {
      const due = new Date(now() + HELD_MS);
      const made = await Promise.all(
        deliveries.map((delivery) =>
          rows.insert(newRecord(now, newIdAt(due), { ...delivery, state: 'waiting' as const, attempts: 0, due })),
        ),
      );
      return {
        release() {
          for (const delivery of made) if (!closed) void start(delivery);
        },
        async withdraw() {
          await Promise.all(made.map(({ id }) => rows.remove(id)));
        },
      };
    },

    async pending(batch) {
      return (await rows.find({ byBatch: [batch] })).filter(({ state }) => state === 'waiting');
    },

    dead: (page) => rows.find({ byState: ['dead'] }, page),

    async retry(id) {
      const delivery = await rows.get(id);
      return delivery?.state === 'dead' && move({ ...delivery, state: 'waiting', attempts: 0, due: new Date(now()) });
    },

    async close() {
      closed = true;
      clearInterval(timer);
      await running;
      await Promise.all(attempts);
    },
  };
}
