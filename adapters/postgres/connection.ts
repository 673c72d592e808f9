/**
 * Stores in PostgreSQL, for the driver `pg` 8 and every pool that fits.
 *
 * `connection` has the only way to ask the server, with the deadline and the retries. `server-checks` refuses servers that would lose records, and `tables` makes
 * the tables. `directory` and `rows` have the durable records, `artifacts` the short-lived ones. No session state is used, so that a pooler may give each
 * transaction to another connection of the server.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { IdpError } from '../../lib/errors.js';
import { deadlineAfter, freeTime, leave } from '../../lib/times/free-time.js';
import { ignoreErrorEvents, type PostgresClient, type PostgresPool } from './pool.js';

/** Milliseconds of free time in which a call has to end. A server that takes longer counts as unavailable. */
const DEADLINE_MS = 1200;
/** Maximum milliseconds that one attempt waits for a lock. Shorter than `deadlock_timeout` of the server, so that a retry may still succeed. */
const LOCK_MS = 500;
/** Milliseconds between the last instant at which a statement may write and the deadline of its call. A statement takes some of them to reach the server. */
const MARGIN_MS = 200;
/** Maximum milliseconds between two attempts. */
const PAUSE_MS = 20;

/** Errors of statements that wrote nothing and may succeed when they are sent again. 22012 is of {@link IN_TIME}. @see PostgreSQL, Appendix A */
const retriable = new Set(['40001', '40P01', '55P03', '22012']);
const UNIQUE_VIOLATION = '23505';
/** Classes and codes of errors after which the connection is closed: the server ends, demotes, or has no resources. */
const broken = /^(08|53|57P|58|XX)|^25006$/;

/** A row of an answer. Statements cast their columns to text, because a host may have changed how its driver reads other types. */
export type Answer = Readonly<Record<string, string | null>>;

/**
 * The first common table expression of a statement that writes: `with ${BOUND}, …`. Parameter `$1` limits the time that the statement waits for locks. The
 * expression has no row if the statement waited longer before it began, such as for a table that is locked. Every part that locks or writes reads from `bound`,
 * and so does the last part, so that a statement without an answer wrote nothing.
 */
export const BOUND =
  "bound as materialized (select set_config('lock_timeout', $1::text, true) where clock_timestamp() < now() + $1::text::interval)";

/**
 * A column of the last part of a statement that writes. A division by zero undoes everything if the waits for locks took too long in sum. Otherwise the statement
 * could write after its caller was refused. The last part reads from every part that writes, so that all waits are over before.
 */
export const IN_TIME = '(1 / case when clock_timestamp() < now() + $1::text::interval then 1 else 0 end)::text as in_time';

/** Statements that together end within one deadline. A statement is a transaction of its own. They are sent one after the other. */
export interface Call {
  /** Sends a statement that only reads, or that ends its waits for locks itself. */
  read<A = Answer>(text: string, values?: readonly unknown[]): Promise<readonly A[]>;
  /**
   * Sends a statement that begins with {@link BOUND}. Sends it again while it loses to concurrent writes.
   * @param values of the parameters from `$2`
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
   * Runs work of several statements. After the deadline, no statement is sent, and the connection of a running statement is closed.
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

  /** Rejects if the server cannot be reached. */
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

  /** Ends the call at its deadline. */
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

  /** Sends a statement again while it loses to concurrent transactions, or while it began too late. */
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

  /** @throws Error if a write would not be done in time. */
  #lockTimeout(): string {
    const left = Math.round(this.#left()) - MARGIN_MS;
    if (left <= 0) throw new Error('PostgreSQL did not answer in time for a write.');
    return `${Math.min(LOCK_MS, left)}ms`;
  }

  /** A connection that is free only after the deadline is given back unused. */
  async #send<A>(text: string, valuesOf: () => readonly unknown[]): Promise<readonly A[]> {
    const client = await this.#connect();
    let isOut = true;
    const release = (destroy: boolean): void => {
      if (isOut) client.release(destroy);
      isOut = false;
    };
    // A driver may leave the statement of a closed connection without an answer.
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
      // The host may have released a connection within its own transaction. A write in it could be rolled back after its answer.
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

/** Returns the error without the values that the server adds to it, because errors are logged and records must not be logged. */
function bare(error: unknown): unknown {
  if (typeof error === 'object' && error !== null) {
    for (const member of ['detail', 'where', 'hint', 'internalQuery']) Reflect.deleteProperty(error, member);
  }
  return error;
}
