/** Removal of expired artifacts, counters and leases, which would fill the disk. Reads and commits check expiry themselves. */
import { randomUUID } from 'node:crypto';
import { NOW } from './artifact-row.js';
import { BOUND } from './connection.js';
import type { Database } from './database.js';
import { takenLease } from './leases.js';

/** Milliseconds between two rounds of a node. */
const EVERY_MS = 15_000;
/** Maximum rows of one statement, so that a statement is short. */
const BATCH = 1000;
/** Name of the lease under which one node sweeps. No lease of the service has such a name. */
const LEASE = '\u0001sweep';

/** Tables with the columns of their address and of their expiry. */
const expiring = [
  ['artifacts', 'key', 'expires_at'],
  ['counters', 'key', 'ends_at'],
  ['leases', 'name', 'expires_at'],
] as const;

/** Sweeps while this node holds the lease of the sweep. */
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

  /** Sweeps all tables. A failure is not logged, because the calls of the service find an outage and log it. */
  async #round(): Promise<void> {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    try {
      for (const [table, key, end] of expiring) {
        const statement = this.#statement(table, key, end);
        for (let removed = BATCH; removed === BATCH && this.#timer !== undefined; ) removed = await this.#batch(statement);
      }
    } catch {
      // The next round tries again.
    } finally {
      this.#isSweeping = false;
    }
  }

  /** @returns the number of removed rows; 0 if another node holds the lease */
  async #batch(statement: string): Promise<number> {
    const [answer] = await this.#database.connection.write(statement, [this.#holder]);
    return Number(answer?.removed);
  }

  /**
   * Takes or renews the lease, and removes a batch in the same statement. Skips rows that a call holds, so that a sweep waits for no call. An array of keys
   * leads to the index, whatever the planner thinks of the number of rows.
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
