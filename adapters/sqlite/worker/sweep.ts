import type { Database } from './database.js';
import type { Statement } from './node-sqlite.js';

/** Maximum rows that are removed from a table in one transaction, so that the removal delays no call for long. */
const LIMIT = 200;
const EVERY_MS = 1000;
/** Milliseconds until the next removal, if there may be more expired rows. */
const SOON_MS = 20;

const tables = [
  ['idp_artifacts', 'key'],
  ['idp_counters', 'key'],
  ['idp_leases', 'name'],
] as const;

interface Sweeper {
  readonly find: Statement;
  readonly remove: Statement;
}

/** Regular removal of expired rows, because rows that are never read again would fill the file. Reads check expiry themselves. */
export class Sweep {
  readonly #database: Database;
  readonly #sweepers: readonly Sweeper[];
  #timer: NodeJS.Timeout;

  constructor(database: Database) {
    this.#database = database;
    this.#sweepers = tables.map(([table, key]) => ({
      find: database.prepare(`select 1 from ${table} where expires_at <= ? limit 1`),
      remove: database.prepare(
        `delete from ${table} where ${key} in (select ${key} from ${table} where expires_at <= ? order by expires_at limit ${LIMIT})`,
      ),
    }));
    this.#timer = setTimeout(() => this.#run(), EVERY_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #run(): void {
    let isFull = false;
    // A failed sweep is not reported, because the calls of the stores detect the same outage.
    try {
      isFull = this.#remove(Date.now());
    } catch {}
    this.#timer = setTimeout(() => this.#run(), isFull ? SOON_MS : EVERY_MS);
  }

  /** Removes a batch of expired rows from each table. @returns whether there may be more expired rows. */
  #remove(now: number): boolean {
    const due = this.#sweepers.filter(({ find }) => find.get(now) !== undefined);
    if (due.length === 0) return false;
    return this.#database.inTransaction(() => due.map(({ remove }) => Number(remove.run(now).changes) === LIMIT).some(Boolean));
  }
}
