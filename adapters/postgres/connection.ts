/**
 * Stores in PostgreSQL, for the driver `pg` 8 and other pools with the same `connect`.
 *
 * `connection` sends all statements, with the deadline and the retries. `server-checks` refuses servers that would lose records. `tables` makes the tables.
 * `directory` and `rows` store the durable records, and `artifacts` stores the short-lived records.
 * The stores use no session state, so that a pooler may send each transaction over another connection of the server.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { IdpError } from '../../lib/errors.js';
import { deadlineAfter, freeTime, leave } from '../../lib/times/free-time.js';
import { ignoreErrorEvents, type PostgresClient, type PostgresPool } from './pool.js';

/** Milliseconds within which a call must end. The time in which this node was blocked does not count. A slower server is treated as unavailable. */
const DEADLINE_MS = 1200;
/** Maximum milliseconds that one attempt waits for a lock. The time is shorter than the server's `deadlock_timeout`, so that a retry may still succeed. */
const LOCK_MS = 500;
/**
 * Milliseconds from the last instant at which a statement may write to the deadline of its call. The time in which the statement reaches the server is part
 * of this margin.
 */
const MARGIN_MS = 200;
/** Maximum milliseconds between two attempts. */
const PAUSE_MS = 20;

/**
 * SQLSTATEs of statements that wrote nothing, and that may succeed if they are sent again. {@link IN_TIME} causes 22012, a division by zero.
 * @see PostgreSQL, Appendix A
 */
const retriable = new Set(['40001', '40P01', '55P03', '22012']);
const UNIQUE_VIOLATION = '23505';
/** Pattern of the SQLSTATEs after which the connection is closed, because the server stops, is demoted to a replica, or has no resources. */
const broken = /^(08|53|57P|58|XX)|^25006$/;

/** Row of an answer. Statements cast all columns to text, because the host may have changed how the driver reads other types. */
export type Answer = Readonly<Record<string, string | null>>;

/**
 * First common table expression of a statement that writes: `with ${BOUND}, …`. The parameter `$1` limits the time for which the statement waits for locks.
 * `bound` has no row if the statement waited longer before it began, for example for a locked table. Each expression that locks or writes must read from
 * `bound`, and so must the final select. A statement without a row in its answer therefore wrote nothing.
 */
export const BOUND =
  "bound as materialized (select set_config('lock_timeout', $1::text, true) where clock_timestamp() < now() + $1::text::interval)";

/**
 * Column of the final select of a statement that writes. If the waits for locks took too long in total, a division by zero undoes the whole statement.
 * Otherwise the statement could write after its call was rejected. The final select reads from each expression that may wait for a lock, so that all waits
 * end before the division.
 */
export const IN_TIME = '(1 / case when clock_timestamp() < now() + $1::text::interval then 1 else 0 end)::text as in_time';

/** Statements that share one deadline, and are sent one after the other. Each statement is a separate transaction. */
export interface Call {
  /** Sends a statement that only reads, or that limits its own waits for locks. */
  read<A = Answer>(text: string, values?: readonly unknown[]): Promise<readonly A[]>;
  /**
   * Sends a statement that begins with {@link BOUND}. Repeats the statement if concurrent writes made the statement fail.
   * @param values the values of the parameters from `$2`
   * @returns at least one row
   * @throws IdpError `conflict` for a duplicate value in a unique index
   */
  write<A = Answer>(text: string, values?: readonly unknown[]): Promise<readonly A[]>;
}

export class Connection {
  readonly #pool: PostgresPool;

  constructor(pool: PostgresPool) {
    this.#pool = pool;
    ignoreErrorEvents(pool);
  }

  /** Sends one statement that only reads. */
  read<A = Answer>(text: string, values?: readonly unknown[]): Promise<readonly A[]> {
    return this.run((call) => call.read<A>(text, values));
  }

  /** Sends one statement that writes, as {@link Call.write} does. */
  write<A = Answer>(text: string, values?: readonly unknown[]): Promise<readonly A[]> {
    return this.run((call) => call.write<A>(text, values));
  }

  /**
   * Runs a function that sends several statements. After the deadline, no statement is sent, and the connection of a running statement is closed.
   * @throws Error after the deadline. A statement that was sent may have been executed.
   */
  run<T>(work: (call: Call) => Promise<T>, milliseconds = DEADLINE_MS): Promise<T> {
    return new Promise((resolve, reject) => {
      const queue = milliseconds === DEADLINE_MS ? usual : deadlineAfter(milliseconds);
      const waiting = queue.enter(() => {
        const error = new Error(`PostgreSQL did not answer within ${milliseconds} ms.`);
        reject(error);
        call.end(error);
      });
      const call = new RunningCall(this.#pool, () => waiting.since + milliseconds - freeTime());
      work(call)
        .finally(() => leave(waiting))
        .then(resolve, reject);
    });
  }

  /** Checks that the server answers. @throws Error if the server cannot be reached. */
  async ping(): Promise<void> {
    await this.read('select 1::text as one');
  }

  /** Returns the server's time, in milliseconds since the epoch. */
  async time(): Promise<number> {
    const [row] = await this.read('select trunc(extract(epoch from clock_timestamp()) * 1000)::text as now');
    return Number(row?.now);
  }
}

const usual = deadlineAfter(DEADLINE_MS);

class RunningCall implements Call {
  readonly #pool: PostgresPool;
  /** Returns the milliseconds until the deadline. */
  readonly #left: () => number;
  #ended: Error | undefined;
  #abandon: ((error: Error) => void) | undefined;

  constructor(pool: PostgresPool, left: () => number) {
    this.#pool = pool;
    this.#left = left;
  }

  /** Ends the call at its deadline: rejects the running statement, and prevents further statements. */
  end(error: Error): void {
    this.#ended = error;
    this.#abandon?.(error);
  }

  read<A = Answer>(text: string, values: readonly unknown[] = []): Promise<readonly A[]> {
    return this.#repeat(() => this.#send<A>(text, () => values));
  }

  async write<A = Answer>(text: string, values: readonly unknown[] = []): Promise<readonly A[]> {
    try {
      return await this.#repeat(async () => {
        const rows = await this.#send<A>(text, () => [this.#lockTimeout(), ...values]);
        return rows.length > 0 ? rows : undefined;
      });
    } catch (error) {
      throw codeOf(error) === UNIQUE_VIOLATION ? new IdpError('conflict', {}, { cause: error }) : error;
    }
  }

  /** Repeats a statement that failed because of concurrent transactions, or that began too late. */
  async #repeat<T>(send: () => Promise<T | undefined>): Promise<T> {
    for (;;) {
      try {
        const answer = await send();
        if (answer !== undefined) return answer;
      } catch (error) {
        if (this.#ended || !retriable.has(codeOf(error) ?? '')) throw error;
      }
      await sleep(Math.random() * PAUSE_MS);
    }
  }

  /** Returns the time limit of a write for {@link BOUND}, such as `500ms`. @throws Error if too little time is left for a write. */
  #lockTimeout(): string {
    const left = Math.round(this.#left()) - MARGIN_MS;
    if (left <= 0) throw new Error('PostgreSQL did not answer in time for a write.');
    return `${Math.min(LOCK_MS, left)}ms`;
  }

  /** Sends a statement over a connection of the pool. A connection that becomes free only after the deadline is released unused. */
  async #send<A>(text: string, valuesOf: () => readonly unknown[]): Promise<readonly A[]> {
    const client = await this.#connect();
    let isOut = true;
    const release = (destroy: boolean): void => {
      if (isOut) client.release(destroy);
      isOut = false;
    };
    // A driver may never settle the statement of a connection that was closed.
    const abandoned = new Promise<never>((_, reject) => {
      this.#abandon = (error) => {
        release(true);
        reject(error);
      };
    });
    let isSent = false;
    try {
      const values = [...valuesOf()];
      isSent = true;
      const { rows } = await Promise.race([client.query(text, values), abandoned]);
      release(false);
      return rows as readonly A[];
    } catch (error) {
      const code = codeOf(error);
      release(isSent && (code === undefined || broken.test(code)));
      throw bare(error);
    } finally {
      this.#abandon = undefined;
    }
  }

  async #connect(): Promise<PostgresClient> {
    for (;;) {
      if (this.#ended) throw this.#ended;
      const client = await this.#pool.connect();
      ignoreErrorEvents(client);
      // The host may have released a connection with an open transaction. A write in this transaction could be rolled back after the answer to the write.
      const isClean = isIdle(client);
      if (isClean && !this.#ended) return client;
      client.release(!isClean);
    }
  }
}

/** Returns whether no transaction is open on the connection, as far as the driver knows. */
function isIdle(client: PostgresClient): boolean {
  const status = (client as { getTransactionStatus?: () => string | null }).getTransactionStatus?.();
  return status === undefined || status === null || status === 'I';
}

/** Returns the SQLSTATE of an error; undefined for an error that did not come from the server. */
export function codeOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** Returns the error without the values that the server added to the error. Errors are logged, and records must not be logged. */
function bare(error: unknown): unknown {
  if (typeof error === 'object' && error !== null) {
    for (const member of ['detail', 'where', 'hint', 'internalQuery']) Reflect.deleteProperty(error, member);
  }
  return error;
}
