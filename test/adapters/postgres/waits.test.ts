/** Issue 44: counters and leases of PostgreSQL that wait for another writer, and use the row that the writer leaves. */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { postgresArtifacts } from 'tenant-idp/adapters/postgres';
import { hashedKey } from '../../../lib/store/artifact-key.js';
import { withPostgres } from '../../support/stores/postgres.js';
import { Holder, waitsForLocks } from '../../support/stores/postgres-holder.js';
import { IN_TIME } from '../../support/time/in-time.js';
import { until } from '../../support/time/until.js';

const LONG = 600_000;
let names = 0;
const newName = () => {
  names += 1;
  return `wait ${names}`;
};
const newKey = () => hashedKey('Wait', newName());

withPostgres('POSTGRES_URL', (postgres) => {
  const prefix = postgres.prefix();
  const store = postgresArtifacts({ pool: postgres.pool, prefix });
  beforeAll(() => store.open());

  /** Runs `call` while another program has made these changes without a commit, and ends that transaction when the call waits. */
  const meanwhile = async <T>(statement: string, call: () => Promise<T>, how: 'commit' | 'rollback' = 'commit'): Promise<T> => {
    const holder = await Holder.of(postgres.pool, statement);
    const answer = call();
    await waitsForLocks(postgres.pool);
    await holder.end(how);
    return answer;
  };
  /** Expects that the call is refused in time, and that it does nothing when the row is free. */
  const refusedLate = async (statement: string, call: () => Promise<unknown>): Promise<void> => {
    const holder = await Holder.of(postgres.pool, statement);
    const began = performance.now();
    await expect(call()).rejects.toThrow(/PostgreSQL did not answer/);
    expect(performance.now() - began).toBeLessThan(IN_TIME);
    const waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    await until(async () => (await postgres.pool.query(waiting)).rowCount === 0);
    await holder.end('rollback');
    await sleep(300);
  };

  describe('counters', () => {
    const start = (key: string, hits: number, ends: number) => `insert into ${prefix}counters values ('${key}', ${hits}, ${ends})`;
    const set = (key: string, change: string) => `update ${prefix}counters set ${change} where key = '${key}'`;

    test('G3: a hit counts on top of another hit that began the window', async () => {
      const key = newKey();
      const ends = Date.now() + LONG;
      expect(await meanwhile(start(key, 4, ends), () => store.hit(key, 1000, 2))).toEqual({ count: 6, resetsAt: ends });
    });

    test('G3: a hit and a give-back see hits that were counted while they waited', async () => {
      const key = newKey();
      await store.hit(key, LONG, 5);
      expect((await meanwhile(set(key, 'hits = 50'), () => store.hit(key, LONG))).count).toBe(51);
      expect((await meanwhile(set(key, 'hits = 2'), () => store.hit(key, LONG, -3))).count).toBe(0);
    });

    test('a hit begins a window where the last one ended or was swept', async () => {
      const [ended, swept] = [newKey(), newKey()];
      for (const key of [ended, swept]) await store.hit(key, LONG, 5);
      expect((await meanwhile(set(ended, 'ends_at = 1'), () => store.hit(ended, LONG))).count).toBe(1);
      expect((await meanwhile(`delete from ${prefix}counters where key = '${swept}'`, () => store.hit(swept, LONG))).count).toBe(1);
    });

    test('a give-back to a window that was swept answers 0, and begins none', async () => {
      const key = newKey();
      await store.hit(key, LONG, 5);
      expect((await meanwhile(`delete from ${prefix}counters where key = '${key}'`, () => store.hit(key, LONG, -1))).count).toBe(0);
      expect((await store.hit(key, LONG, 0)).count).toBe(0);
    });

    test.each([1, -1])('a hit by %s that was refused is not counted later', async (by) => {
      const key = newKey();
      await store.hit(key, LONG, 5);
      await refusedLate(set(key, 'hits = hits'), () => store.hit(key, LONG, by));
      expect((await store.hit(key, LONG, 0)).count).toBe(5);
    });
  });

  describe('leases', () => {
    const of = (name: string, holder: string, ends: number) => `insert into ${prefix}leases values ('${name}', '${holder}', ${ends})`;
    const set = (name: string, change: string) => `update ${prefix}leases set ${change} where name = '${name}'`;
    const taken = `holder = 'other', expires_at = ${Date.now() + LONG}`;

    test('a lease that another node takes while this node waits is the other node’s', async () => {
      const [free, expired] = [newName(), newName()];
      expect(await meanwhile(of(free, 'other', Date.now() + LONG), () => store.lease(free, 'me', LONG))).toBe(false);
      await store.lease(expired, 'last', 1);
      await sleep(20);
      expect(await meanwhile(set(expired, taken), () => store.lease(expired, 'me', LONG))).toBe(false);
      expect(await store.lease(expired, 'other', LONG)).toBe(true);
    });

    test('a lease that the other node did not take after all is free', async () => {
      const name = newName();
      expect(await meanwhile(of(name, 'other', Date.now() + LONG), () => store.lease(name, 'me', LONG), 'rollback')).toBe(true);
      expect(await store.lease(name, 'other', LONG)).toBe(false);
    });

    test('a lease that is given back while its next holder takes it stays taken', async () => {
      const name = newName();
      await store.lease(name, 'me', LONG);
      expect(await meanwhile(set(name, taken), () => store.lease(name, 'me', 0))).toBe(false);
      expect(await store.lease(name, 'third', LONG)).toBe(false);
      expect(await store.lease(name, 'other', LONG)).toBe(true);
    });

    test('of two give-backs at once one succeeds', async () => {
      const name = newName();
      await store.lease(name, 'me', LONG);
      const answers = await Promise.all([store.lease(name, 'me', 0), store.lease(name, 'me', 0)]);
      expect(answers.filter(Boolean)).toHaveLength(1);
    });

    test('a lease that was refused is not taken, renewed or given back later', async () => {
      const [name, own] = [newName(), newName()];
      await refusedLate(of(name, 'other', 1), () => store.lease(name, 'me', LONG));
      expect(await store.lease(name, 'third', LONG)).toBe(true);
      await store.lease(own, 'me', LONG);
      await refusedLate(set(own, 'holder = holder'), () => store.lease(own, 'me', 0));
      expect(await store.lease(own, 'third', LONG)).toBe(false);
    });
  });
});
