/** Issue 44: what becomes of calls while PostgreSQL cannot be reached, and afterwards. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { postgresArtifacts, postgresDirectory, postgresOptions } from 'tenant-idp/adapters/postgres';
import { hashedKey } from '../../../lib/store/artifact-key.js';
import type { ArtifactStore } from '../../../lib/store/artifact-store.js';
import type { DirectoryStore, Row } from '../../../lib/store/directory-store.js';
import { withPostgres } from '../../support/stores/postgres.js';
import { startTcpProxy, type TcpProxy } from '../../support/stores/tcp-proxy.js';
import { IN_TIME } from '../../support/time/in-time.js';
import { until } from '../../support/time/until.js';

const later = () => Date.now() + 60_000;
const keyOf = (name: string) => hashedKey('Outage', name);
const put = (name: string) => ({ op: 'put', key: keyOf(name), value: name, expiresAt: later() }) as const;
const remove = (name: string) => ({ op: 'remove', key: keyOf(name), until: later() }) as const;

interface Stores {
  readonly artifacts: ArtifactStore;
  readonly directory: DirectoryStore;
}

type Call = readonly [name: string, call: (stores: Stores) => Promise<unknown>];

const rows = ({ directory }: Stores) => directory.collection<Row & { readonly name?: string }>('rows');

/** Each call of both contracts. */
const calls: readonly Call[] = [
  ['read', ({ artifacts }) => artifacts.read([{ key: keyOf('there') }])],
  ['read that follows', ({ artifacts }) => artifacts.read([{ key: keyOf('there'), follow: ['grant'] }])],
  ['commit of one', ({ artifacts }) => artifacts.commit([put('lost one')])],
  ['commit of several', ({ artifacts }) => artifacts.commit([put('lost two'), put('there'), remove('lost three')])],
  ['listByAccount', ({ artifacts }) => artifacts.listByAccount('account')],
  ['hit', ({ artifacts }) => artifacts.hit(keyOf('counter'), 60_000)],
  ['hit by 0', ({ artifacts }) => artifacts.hit(keyOf('counter'), 60_000, 0)],
  ['hit by -1', ({ artifacts }) => artifacts.hit(keyOf('counter'), 60_000, -1)],
  ['lease', ({ artifacts }) => artifacts.lease('lease', 'me', 60_000)],
  ['lease given back', ({ artifacts }) => artifacts.lease('lease', 'me', 0)],
  ['time', ({ artifacts }) => artifacts.time!()],
  ['health of artifacts', ({ artifacts }) => artifacts.health()],
  ['get', (stores) => rows(stores).get('there')],
  ['find', (stores) => rows(stores).find({})],
  ['find by index', (stores) => rows(stores).find({ byName: ['x'] }, { limit: 1 })],
  ['insert', (stores) => rows(stores).insert({ id: 'lost' })],
  ['put', (stores) => rows(stores).put({ id: 'lost' })],
  ['update', (stores) => rows(stores).update('there', (row) => ({ ...row, name: 'lost' }))],
  ['remove', (stores) => rows(stores).remove('absent')],
  ['health of the directory', ({ directory }) => directory.health()],
];

withPostgres('POSTGRES_URL', (postgres) => {
  const prefix = postgres.prefix();
  const storesOf = (pool = postgres.pool): Stores => ({
    artifacts: postgresArtifacts({ pool, prefix }),
    directory: postgresDirectory({ pool, prefix }),
  });
  const near = storesOf();
  let proxy: TcpProxy;
  let stores: Stores;

  beforeAll(async () => {
    const { hostname, port } = new URL(postgres.url);
    proxy = await startTcpProxy({ host: hostname, port: Number(port) });
    stores = storesOf(postgres.connect(postgresOptions, `127.0.0.1:${proxy.port}`));
    const specs = [{ name: 'rows', indexes: { byName: { fields: ['name'] } } }];
    for (const { artifacts, directory } of [near, stores]) await Promise.all([artifacts.open(), directory.open(specs)]);
    await near.artifacts.commit([put('there')]);
    await near.artifacts.hit(keyOf('counter'), 60_000, 5);
    await rows(near).insert({ id: 'there' });
  });
  afterAll(async () => {
    for (const { artifacts, directory } of [near, stores]) await Promise.all([artifacts.close(), directory.close()]);
    await proxy.close();
  });

  /** Outcome of a call, and its time in milliseconds. */
  const timed = async (call: Promise<unknown>) => {
    const began = performance.now();
    const outcome = await call.then(
      () => 'answered',
      (error: unknown) => (error instanceof Error ? 'refused' : 'threw something else'),
    );
    return { outcome, time: performance.now() - began };
  };
  const expectRefusals = async () => {
    const results = await Promise.all(calls.map(async ([name, call]) => ({ name, ...(await timed(call(stores))) })));
    expect(results.filter(({ outcome }) => outcome !== 'refused')).toEqual([]);
    expect(results.filter(({ time }) => time > IN_TIME)).toEqual([]);
  };
  /** Without a restart: by the same pools. */
  const expectRecovery = async () => {
    await until(async () => (await timed(stores.artifacts.health())).outcome === 'answered');
    const reads = calls.filter(([name]) => /^(read|list|find|get|time|health)/.test(name));
    for (const [name, call] of reads) expect([name, (await timed(call(stores))).outcome]).toEqual([name, 'answered']);
    expect((await stores.artifacts.read([{ key: keyOf('there') }])).size).toBe(1);
  };

  const everything = () =>
    Promise.all(
      ['artifacts', 'counters', 'leases', 'rows', 'entries'].map(
        async (name) => (await postgres.pool.query<{ row: string }>(`select t::text as row from ${prefix}${name} t order by 1`)).rows,
      ),
    );

  describe('PostgreSQL is unavailable', () => {
    test('it is not there: every call is refused within 1.5 s, none of them is done later, and all work again when it is back', async () => {
      const before = await everything();
      await proxy.refuse();
      await expectRefusals();
      await proxy.pass();
      await expectRecovery();
      expect(await everything()).toEqual(before);
    });

    test('it hangs: every call is refused within 1.5 s, none of them is done later, and all work again when it is back', async () => {
      const before = await everything();
      proxy.hang();
      await expectRefusals();
      await proxy.pass();
      await expectRecovery();
      expect(await everything()).toEqual(before);
    });

    test('its connections break in the middle of calls: each is answered or refused, and the next ones work', async () => {
      const running = Array.from({ length: 20 }, (_, index) => timed(stores.artifacts.commit([put(`cut ${index}`), put(`too ${index}`)])));
      proxy.cut();
      for (const { outcome, time } of await Promise.all(running)) {
        expect(['answered', 'refused']).toContain(outcome);
        expect(time).toBeLessThan(IN_TIME);
      }
      await expectRecovery();
      for (const index of running.keys()) {
        const pair = await near.artifacts.read([put(`cut ${index}`), put(`too ${index}`)]);
        expect([0, 2]).toContain(pair.size);
      }
    });

    test('J2: an answer is lost: the call is refused, what it did is done once, and a second attempt learns so', async () => {
      const once = { ...put('once'), if: 'absent' } as const;
      proxy.hang('answers');
      expect(await timed(stores.artifacts.commit([once]))).toMatchObject({ outcome: 'refused' });
      await proxy.pass();
      expect(await near.artifacts.commit([once])).toEqual({ ok: false, lost: once.key });
      await expectRecovery();
      expect((await near.artifacts.read([once])).get(once.key)?.version).toBe(1);
    });

    test('a pool that has no connection yet is no exception', async () => {
      const unconnected = storesOf(postgres.connect(postgresOptions, `127.0.0.1:${proxy.port}`));
      for (const become of [() => proxy.refuse(), async () => proxy.hang()]) {
        await become();
        for (const call of [unconnected.artifacts.health(), unconnected.artifacts.commit([put('unconnected')])]) {
          const { outcome, time } = await timed(call);
          expect(outcome).toBe('refused');
          expect(time).toBeLessThan(IN_TIME);
        }
        await proxy.pass();
      }
      expect((await near.artifacts.read([put('unconnected')])).size).toBe(0);
    });
  });
});
