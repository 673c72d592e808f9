/** Issue 44: expired artifacts, counters and leases are removed, by one node at a time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, jest, test } from '@jest/globals';
import { postgresArtifacts } from 'tenant-idp/adapters/postgres';
import { createDatabase } from '../../../adapters/postgres/database.js';
import type { PostgresPool } from '../../../adapters/postgres/pool.js';
import { Sweep } from '../../../adapters/postgres/sweep.js';
import { hashedKey } from '../../../lib/store/artifact-key.js';
import { withPostgres } from '../../support/stores/postgres.js';
import { Holder } from '../../support/stores/postgres-holder.js';
import { until } from '../../support/time/until.js';

const EVERY_MS = 50;
const keyOf = (name: string) => hashedKey('Sweep', name);
const put = (name: string, expiresAt: number) => ({ op: 'put', key: keyOf(name), value: 'x'.repeat(300), expiresAt }) as const;
const later = () => Date.now() + 600_000;

withPostgres('POSTGRES_URL', (postgres) => {
  const sweeps: Sweep[] = [];
  afterEach(() => {
    for (const sweep of sweeps.splice(0)) sweep.stop();
  });

  /** Creates the tables of a store whose own sweep does not run. Returns the store and the prefix. */
  const opened = async () => {
    const prefix = postgres.prefix();
    const store = postgresArtifacts({ pool: postgres.pool, prefix });
    await store.open();
    await store.close();
    return { prefix, store };
  };
  const started = (prefix: string, pool: PostgresPool = postgres.pool): Sweep => {
    const sweep = new Sweep(createDatabase({ pool, prefix }), EVERY_MS);
    sweeps.push(sweep);
    sweep.start();
    return sweep;
  };
  const rowsOf = async (prefix: string, table: string): Promise<number> =>
    Number((await postgres.pool.query<{ count: string }>(`select count(*) from ${prefix}${table}`)).rows[0]?.count);
  /** Returns a pool that records how many rows its statements removed. */
  const counting = () => {
    const removed: number[] = [];
    const pool: PostgresPool = {
      async connect() {
        const client = await postgres.pool.connect();
        const query = async (text: string, values: unknown[]) => {
          const answer = await client.query<{ removed?: string }>(text, values);
          removed.push(Number(answer.rows[0]?.removed));
          return answer;
        };
        return { query, release: (destroy) => client.release(destroy) };
      },
    };
    return { pool, removed, sum: () => removed.reduce((sum, count) => sum + count, 0) };
  };

  test('J3: all that expired goes, tombstones too, and all else stays', async () => {
    const { prefix, store } = await opened();
    const count = 2500;
    const names = Array.from({ length: count }, (_, index) => `${index}`);
    await store.commit([...names.map((name) => put(name, Date.now() - 1)), put('stays', later())]);
    await store.commit([
      { op: 'remove', key: keyOf('removed'), until: Date.now() - 1 },
      { op: 'remove', key: keyOf('removed for long'), until: later() },
    ]);
    await store.hit(keyOf('short'), 1);
    await store.hit(keyOf('long'), 600_000);
    await store.lease('short', 'me', 1);
    await store.lease('long', 'me', 600_000);
    started(prefix);
    await until(async () => (await rowsOf(prefix, 'artifacts')) === 2 && (await rowsOf(prefix, 'counters')) === 1);
    // The second lease is that of the sweep.
    await until(async () => (await rowsOf(prefix, 'leases')) === 2);
    expect((await store.read([{ key: keyOf('stays') }])).size).toBe(1);
    expect(await store.commit([put('removed for long', later())])).toEqual({ ok: false, lost: keyOf('removed for long') });
    expect((await store.hit(keyOf('long'), 600_000, 0)).count).toBe(1);
    expect(await store.lease('long', 'other', 600_000)).toBe(false);
  });

  test('one of two nodes sweeps; the other goes on when the first has ended', async () => {
    const { prefix, store } = await opened();
    const [one, other] = [counting(), counting()];
    const first = started(prefix, one.pool);
    await until(() => one.removed.length > 0);
    started(prefix, other.pool);
    await store.commit([put('a', Date.now() - 1), put('b', Date.now() - 1)]);
    await until(async () => (await rowsOf(prefix, 'artifacts')) === 0);
    await until(() => other.removed.length > 9);
    expect([one.sum(), other.sum()]).toEqual([2, 0]);
    first.stop();
    await store.commit([put('c', Date.now() - 1)]);
    await until(() => other.sum() === 1);
  });

  test('a record that a call holds is skipped, and a record that the call prolongs stays', async () => {
    const { prefix, store } = await opened();
    await store.commit([put('held', Date.now() - 1), put('free', Date.now() - 1)]);
    const change = `update ${prefix}artifacts set expires_at = ${later()} where key = '${keyOf('held')}'`;
    const holder = await Holder.of(postgres.pool, change);
    started(prefix);
    await until(async () => (await rowsOf(prefix, 'artifacts')) === 1);
    await holder.end('commit');
    await sleep(5 * EVERY_MS);
    expect((await store.read([{ key: keyOf('held') }])).size).toBe(1);
  });

  test('a sweep that fails goes on, and one that was stopped removes nothing', async () => {
    const { prefix, store } = await opened();
    let failures = 0;
    const failing: PostgresPool = {
      connect() {
        failures += 1;
        return failures < 4 ? Promise.reject(new Error('no connection')) : postgres.pool.connect();
      },
    };
    await store.commit([put('a', Date.now() - 1)]);
    const sweep = started(prefix, failing);
    await until(async () => (await rowsOf(prefix, 'artifacts')) === 0);
    sweep.stop();
    await sleep(2 * EVERY_MS);
    const asked = failures;
    await store.commit([put('b', Date.now() - 1)]);
    await sleep(4 * EVERY_MS);
    expect([await rowsOf(prefix, 'artifacts'), failures]).toEqual([1, asked]);
  });

  test('a store sweeps from its first open to its close, by one timer that does not keep Node.js running', async () => {
    const { prefix } = await opened();
    const [setting, clearing] = [jest.spyOn(globalThis, 'setInterval'), jest.spyOn(globalThis, 'clearInterval')];
    try {
      const store = postgresArtifacts({ pool: postgres.pool, prefix });
      await Promise.all([store.open(), store.open()]);
      const timers = setting.mock.results
        .filter((_, index) => setting.mock.calls[index]?.[1] === 15_000)
        .map(({ value }) => value as NodeJS.Timeout);
      expect(timers.map((timer) => timer.hasRef())).toEqual([false]);
      await store.close();
      expect(clearing).toHaveBeenCalledWith(timers[0]);
    } finally {
      setting.mockRestore();
      clearing.mockRestore();
    }
  });

  test('records that come and go leave the size of the tables as it is', async () => {
    const { prefix, store } = await opened();
    started(prefix);
    const sizes: number[] = [];
    for (let round = 0; round < 12; round += 1) {
      const expiresAt = Date.now() + 1000;
      for (let part = 0; part < 5; part += 1)
        await store.commit(
          Array.from({ length: 200 }, (_, index) => ({ ...put(`${round} ${part} ${index}`, expiresAt), account: `${index}` })),
        );
      await store.commit(Array.from({ length: 200 }, (_, index) => ({ ...put(`${round} 0 ${index}`, expiresAt), consumedAt: 1 })));
      await until(async () => (await rowsOf(prefix, 'artifacts')) === 0);
      // Autovacuum does the same, from time to time.
      await postgres.pool.query(`vacuum ${prefix}artifacts`);
      const { rows } = await postgres.pool.query<{ size: string }>(`select pg_total_relation_size('${prefix}artifacts') as size`);
      sizes.push(Number(rows[0]?.size));
    }
    // A statement that runs during a vacuum keeps the rows of one round. Rows that stayed would make it six times the size.
    expect(Math.max(...sizes.slice(-2))).toBeLessThan(4 * Math.max(...sizes.slice(0, 2)));
  });

  test('tables that change often are vacuumed early', async () => {
    const { prefix } = await opened();
    const { rows } = await postgres.pool.query<{ reloptions: string[] }>(
      `select reloptions from pg_class where oid in ('${prefix}artifacts'::regclass, '${prefix}counters'::regclass, '${prefix}leases'::regclass)`,
    );
    expect(rows).toHaveLength(3);
    for (const { reloptions } of rows) expect(reloptions).toContain('autovacuum_vacuum_scale_factor=0.01');
  });
});
