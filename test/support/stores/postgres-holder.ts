/** Transaction of another program. The transaction has locks, and a store waits for these locks. */
import type { Pool, PoolClient } from 'pg';
import { until } from '../time/until.js';

export class Holder {
  readonly #client: PoolClient;

  private constructor(client: PoolClient) {
    this.#client = client;
  }

  /** Begins a transaction with these statements. */
  static async of(pool: Pool, ...statements: readonly string[]): Promise<Holder> {
    const holder = new Holder(await pool.connect());
    await holder.run('begin');
    for (const text of statements) await holder.run(text);
    return holder;
  }

  run(text: string): Promise<unknown> {
    return this.#client.query(text);
  }

  /** Ends the transaction, so that calls no longer wait for its locks. */
  async end(how: 'commit' | 'rollback'): Promise<void> {
    await this.run(how);
    this.#client.release();
  }
}

/** Waits until this number of calls wait for a lock in the pool's database. */
export const waitsForLocks = (pool: Pool, count = 1): Promise<unknown> =>
  until(async () => {
    const waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    return ((await pool.query(waiting)).rowCount ?? 0) >= count;
  });
