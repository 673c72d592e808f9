/** Removal of expired artifacts, counters and leases, because expired rows would fill the disk. Reads and commits check expiry themselves. */
import { randomUUID } from 'node:crypto';
import { NOW } from './artifact-row.js';
import { BOUND } from './connection.js';
import type { Database } from './database.js';
import { takenLease } from './leases.js';

/** Milliseconds between two sweeps of a node. */
const EVERY_MS = 15_000;
/** Maximum rows that one statement removes, so that each statement is short. */
const BATCH = 1000;
/** Name of the lease that allows one node to sweep. No lease of the service has this name. */
const LEASE = '\u0001sweep';

/** Tables, each with its primary key and the column of its expiry. */
const expiring = [
  ['artifacts', 'key', 'expires_at'],
  ['counters', 'key', 'ends_at'],
  ['leases', 'name', 'expires_at'],
] as const;

/** Regular removal of expired rows. Only the node with the lease of the sweep removes rows. */
export class Sweep {
  readonly #database: Database;
  readonly #everyMs: number;
  readonly #holder = randomUUID();
  #timer: NodeJS.Timeout | undefined;
  #isSweeping = false;

  constructor(database: Database, everyMs = EVERY_MS) {
    this.#database = database;
    this.#everyMs = everyMs;
  }

  /** Starts the timer, which does not keep Node.js running. */
  start(): void {
    this.#timer ??= setInterval(() => void this.#round(), this.#everyMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Sweeps all tables. A failure is not logged, because the calls of the service detect an outage and log the outage. */
  async #round(): Promise<void> {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    try {
      for (const [table, key, end] of expiring) {
        const statement = this.#statement(table, key, end);
        for (let removed = BATCH; removed === BATCH && this.#timer !== undefined; ) removed = await this.#batch(statement);
      }
    } catch {
      // The next sweep retries the removal.
    } finally {
      this.#isSweeping = false;
    }
  }

  /** Removes one batch of rows. @returns the number of removed rows; 0 if another node has the lease */
  async #batch(statement: string): Promise<number> {
    const [answer] = await this.#database.connection.write(statement, [this.#holder]);
    return Number(answer?.removed);
  }

  /**
   * Returns the statement that takes or renews the lease and removes a batch. The statement skips rows that a call has locked, so that no sweep waits for a
   * call. With an array of primary keys, PostgreSQL uses the index, however many rows the planner expects.
   */
  #statement(table: string, key: string, end: string): string {
    const { names } = this.#database;
    const at = names.at(table);
    return `with ${BOUND}, moment as materialized (select ${NOW} as now from bound),
      ${takenLease(names.at('leases'), `'${LEASE}'`, '$2::text', `${3 * this.#everyMs}`)},
      expired as materialized (
        select ${key} from ${at} where ${end} <= (select now from moment) and (select true from taken)
        order by ${end} limit ${BATCH} for update skip locked
      ),
      removed as (delete from ${at} where ${key} = any(array(select ${key} from expired)) returning true)
      select (select count(*) from removed)::text as removed from moment`;
  }
}
