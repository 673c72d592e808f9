/** Commits to PostgreSQL that nodes race for, that wait for others, and that come after the deadline. */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Pool } from 'pg';
import { type PostgresPool, postgresArtifacts } from 'tenant-idp/adapters/postgres';
import { hashedKey } from '../../../lib/store/artifact-key.js';
import type { Artifact, ArtifactKey, ArtifactStore, CommitResult } from '../../../lib/store/artifact-store.js';
import { withPostgres } from '../../support/stores/postgres.js';
import { Holder, waitsForLocks } from '../../support/stores/postgres-holder.js';
import { IN_TIME } from '../../support/time/in-time.js';
import { until } from '../../support/time/until.js';
import { put, remove, type Scenario, scenarios } from '../commit-scenarios.js';

/** Few rounds with the suite, many with `npm run prove`. */
const [ROUNDS, ATTEMPTS] = process.env.PROVE ? [50, 50] : [3, 20];

let names = 0;
/** Returns a key that no other test has. Keys of one test are in no particular order. */
const newKey = (): ArtifactKey => {
  names += 1;
  return hashedKey('Race', `${names}`);
};
const ok = { ok: true } as const;
const wins = (results: readonly CommitResult[]): number => results.filter((result) => result.ok).length;

withPostgres('POSTGRES_URL', (postgres) => {
  const prefix = postgres.prefix();
  const table = `${prefix}artifacts`;
  const near = postgresArtifacts({ pool: postgres.pool, prefix });
  const nodes: readonly ArtifactStore[] = [near, postgresArtifacts({ pool: postgres.connect(), prefix })];
  beforeAll(async () => {
    for (const node of nodes) await node.open();
  });

  const read = async (...keys: readonly ArtifactKey[]): Promise<(Artifact | undefined)[]> => {
    const found = await near.read(keys.map((key) => ({ key })));
    return keys.map((key) => found.get(key));
  };
  const versions = async (...keys: readonly ArtifactKey[]) => (await read(...keys)).map((artifact) => artifact?.version);
  const records = async (count: number): Promise<ArtifactKey[]> => {
    const keys = Array.from({ length: count }, newKey);
    expect(await near.commit(keys.map((key) => put(key, { value: 'old' })))).toEqual(ok);
    return keys;
  };
  const holding = (...statements: readonly string[]) => Holder.of(postgres.pool, ...statements);
  const lockOf = (key: ArtifactKey) => `select 1 from ${table} where key = '${key}' for update`;
  const insertOf = (key: ArtifactKey) =>
    `insert into ${table} (key, value, version, expires_at, is_removed) values ('${key}', 'of another', 1, ${Date.now() + 60_000}, false)`;

  describe.each(scenarios)('$name', ({ make }) => {
    test('B1, B3, J1: of many attempts at once over two pools one is done, as a whole, and the others leave nothing', async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        names += 1;
        const scenario: Scenario = make(names);
        const held = scenario.held ? [scenario.held] : [];
        expect(await near.commit([...scenario.old.map((key) => put(key, { value: 'old' })), ...held])).toEqual(ok);
        const attempts = Array.from({ length: scenario.repeats ? 10 : ATTEMPTS }, (_, index) => index);
        const results = await Promise.all(attempts.map((attempt) => nodes[attempt % 2]!.commit(scenario.commit(attempt))));
        const winners = attempts.filter((attempt) => results[attempt]!.ok);
        expect(winners).toHaveLength(scenario.repeats ? attempts.length : 1);
        expect((await read(...scenario.old)).every((artifact) => artifact?.value !== 'old')).toBe(true);
        const won = scenario.news(winners[0]!);
        expect(await read(...won)).not.toContain(undefined);
        if (scenario.repeats) continue;
        const others = attempts.flatMap((attempt) => scenario.news(attempt)).filter((key) => !won.includes(key));
        expect((await read(...others)).filter((artifact) => artifact !== undefined)).toEqual([]);
      }
    });
  });

  describe('a record that did not exist when a commit began, and appears while the commit waits', () => {
    const waiting = async (condition: 'absent' | undefined) => {
      const [there] = (await records(1)) as [ArtifactKey];
      const [appearing, fresh] = [newKey(), newKey()];
      const holder = await holding(insertOf(appearing));
      const commit = near.commit([put(there), put(appearing, condition && { if: condition }), put(fresh)]);
      await waitsForLocks(postgres.pool);
      return { keys: [there, appearing, fresh] as const, holder, commit };
    };

    test('J1: makes the commit lose as a whole if the record must not exist', async () => {
      const { keys, holder, commit } = await waiting('absent');
      await holder.end('commit');
      expect(await commit).toEqual({ ok: false, lost: keys[1] });
      expect(await versions(...keys)).toEqual([1, 1, undefined]);
      expect((await read(keys[1]))[0]?.value).toBe('of another');
    });

    test('is counted in the version, and every other write of the commit is made once', async () => {
      const { keys, holder, commit } = await waiting(undefined);
      await holder.end('commit');
      expect(await commit).toEqual(ok);
      expect(await versions(...keys)).toEqual([2, 2, 1]);
    });

    test('is not there if its writer gave up', async () => {
      const { keys, holder, commit } = await waiting('absent');
      await holder.end('rollback');
      expect(await commit).toEqual(ok);
      expect(await versions(...keys)).toEqual([2, 1, 1]);
    });

    test('J1: of many commits over two pools that put the same new records, one wins and all of its records are there', async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const keys = [newKey(), newKey(), newKey()];
        const results = await Promise.all(
          Array.from({ length: ATTEMPTS }, (_, index) => {
            const given = index % 2 === 0 ? keys : keys.toReversed();
            return nodes[index % 2]!.commit(given.map((key) => put(key, { if: 'absent', value: `by ${index}` })));
          }),
        );
        expect(wins(results)).toBe(1);
        const winner = `by ${results.findIndex((result) => result.ok)}`;
        expect((await read(...keys)).map((artifact) => artifact?.value)).toEqual([winner, winner, winner]);
      }
    });
  });

  describe('a commit that waits for a record judges it as the other writer leaves it', () => {
    const spend = (key: ArtifactKey) => put(key, { if: 'unconsumed', consumedAt: Date.now() });
    const changes: readonly (readonly [string, string, boolean])[] = [
      ['spent', 'consumed_at = 1, version = 2', false],
      ['removed', `is_removed = true, version = 0`, false],
      ['expired', 'expires_at = 1', false],
      ['replaced', "value = 'other', version = 2", true],
    ];

    test.each(changes)('J1: %s', async (_, change, isWon) => {
      const [key, other] = (await records(2)) as [ArtifactKey, ArtifactKey];
      const holder = await holding(`update ${table} set ${change} where key = '${key}'`);
      const commit = near.commit([put(other), spend(key)]);
      await waitsForLocks(postgres.pool);
      await holder.end('commit');
      expect(await commit).toEqual(isWon ? ok : { ok: false, lost: key });
      expect(await versions(other)).toEqual([isWon ? 2 : 1]);
      if (isWon) expect(await versions(key)).toEqual([3]);
    });

    test('swept: the record is absent, and the commit begins it again', async () => {
      const key = newKey();
      await near.commit([put(key, { expiresAt: 1 })]);
      const holder = await holding(`delete from ${table} where key = '${key}'`);
      const commit = near.commit([put(key, { if: 'absent' })]);
      await waitsForLocks(postgres.pool);
      await holder.end('commit');
      expect(await commit).toEqual(ok);
      expect(await versions(key)).toEqual([1]);
    });

    test('the other writer gave up: the commit wins', async () => {
      const [key] = (await records(1)) as [ArtifactKey];
      const holder = await holding(`update ${table} set consumed_at = 1 where key = '${key}'`);
      const commit = near.commit([spend(key)]);
      await waitsForLocks(postgres.pool);
      await holder.end('rollback');
      expect(await commit).toEqual(ok);
    });
  });

  test('the first write that loses is named, in the order of the writes', async () => {
    const keys = (await records(4)).sort().reverse();
    const result = await near.commit([put(keys[0]!), ...keys.slice(1).map((key) => put(key, { if: { version: 9 } }))]);
    expect(result).toEqual({ ok: false, lost: keys[1] });
  });

  describe('records in any order', () => {
    test.each([
      ['records', () => records(6)],
      ['new records', async () => Array.from({ length: 6 }, newKey)],
    ])('commits of the same %s in opposite orders are all made, and none waits in a circle', async (_, make) => {
      const pool = postgres.connect();
      const codes = new Set<unknown>();
      const watched: PostgresPool = {
        async connect() {
          const client = await pool.connect();
          const query = (text: string, values: unknown[]) =>
            client.query<object>(text, values).catch((error: { code?: unknown }) => {
              codes.add(error.code);
              throw error;
            });
          return { query, release: (destroy) => client.release(destroy) };
        },
      };
      const store = postgresArtifacts({ pool: watched, prefix });
      for (let round = 0; round < 2 * ROUNDS; round += 1) {
        const keys = await make();
        const commits = Array.from({ length: 20 }, (__, index) => {
          const given = index % 2 === 0 ? keys : keys.toReversed();
          return store.commit(given.map((key, place) => (place === 3 ? remove(newKey()) : put(key))));
        });
        expect(wins(await Promise.all(commits))).toBe(20);
      }
      // A circle of locks would give 55P03 or 40P01. A record that appeared in the meantime gives 23505.
      expect([...codes].filter((code) => code !== '23505')).toEqual([]);
    });

    test('a commit that waits for another program in a circle gives way, and is made afterwards', async () => {
      const [first, second] = (await records(2)).sort() as [ArtifactKey, ArtifactKey];
      const holder = await holding(lockOf(second));
      const commit = near.commit([put(first), put(second)]);
      await waitsForLocks(postgres.pool);
      await holder.run(lockOf(first));
      await holder.end('commit');
      expect(await commit).toEqual(ok);
      expect(await versions(first, second)).toEqual([2, 2]);
    });

    test.each(['repeatable read', 'serializable'])('connections whose transactions are %s by default lose no commit', async (level) => {
      const isolation = `-c default_transaction_isolation=${level.replace(' ', '\\ ')}`;
      const strict = postgresArtifacts({ pool: postgres.connect({ options: isolation }), prefix });
      const [key, code] = (await records(2)) as [ArtifactKey, ArtifactKey];
      expect(wins(await Promise.all(Array.from({ length: 8 }, () => strict.commit([put(key)]))))).toBe(8);
      expect(await versions(key)).toEqual([9]);
      const spends = Array.from({ length: 8 }, () => strict.commit([put(code, { if: 'unconsumed', consumedAt: 1 })]));
      expect(wins(await Promise.all(spends))).toBe(1);
    });
  });

  describe('a commit that comes too late', () => {
    /** Expects that the call is refused in time, lets all other calls continue, and resolves when the server is idle. */
    const refused = async (call: Promise<unknown>, release: () => Promise<unknown>, pool: Pool = postgres.pool): Promise<void> => {
      const began = performance.now();
      await expect(call).rejects.toThrow(/PostgreSQL did not answer/);
      expect(performance.now() - began).toBeLessThan(IN_TIME);
      const waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      await until(async () => (await pool.query(waiting)).rowCount === 0);
      await release();
      await sleep(1000);
      const { rowCount } = await pool.query(
        "select 1 from pg_stat_activity where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()",
      );
      expect(rowCount).toBe(0);
    };

    test('writes nothing after it waited for a record', async () => {
      const [key, other] = (await records(2)) as [ArtifactKey, ArtifactKey];
      const holder = await holding(lockOf(key));
      await refused(near.commit([put(other), put(key)]), () => holder.end('rollback'));
      expect(await versions(key, other)).toEqual([1, 1]);
    });

    test('writes nothing after it waited for a new record', async () => {
      const [key, other] = [newKey(), newKey()];
      const holder = await holding(insertOf(key));
      await refused(near.commit([put(other), put(key)]), () => holder.end('rollback'));
      expect(await read(key, other)).toEqual([undefined, undefined]);
    });

    test.each([
      ['records', lockOf],
      ['new records', insertOf],
    ])('writes nothing after it waited for several %s, each for a short time', async (kind, held) => {
      const keys = (kind === 'records' ? await records(6) : Array.from({ length: 6 }, newKey)).sort();
      const before = await versions(...keys);
      const holders = await Promise.all(keys.map((key) => holding(held(key))));
      const letGo = async () => {
        for (const holder of holders) {
          await sleep(300);
          await holder.end('rollback');
        }
      };
      const lettingGo = letGo();
      await refused(near.commit(keys.map((key) => put(key))), () => lettingGo);
      expect(await versions(...keys)).toEqual(before);
    });

    test('is not sent when a connection becomes free', async () => {
      const pool = postgres.connect({ max: 1 });
      const store = postgresArtifacts({ pool, prefix });
      const [key] = (await records(1)) as [ArtifactKey];
      const client = await pool.connect();
      await refused(store.commit([put(key)]), async () => client.release());
      expect(await versions(key)).toEqual([1]);
      expect(await store.commit([put(key)])).toEqual(ok);
    });
  });
});
