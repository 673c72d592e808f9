/** Calls of both stores while their server cannot be reached, and afterwards. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { hashedKey } from '../../lib/store/artifact-key.js';
import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import type { DirectoryStore, Row } from '../../lib/store/directory-store.js';
import { startTcpProxy, type TcpProxy } from '../support/stores/tcp-proxy.js';
import { IN_TIME } from '../support/time/in-time.js';
import { until } from '../support/time/until.js';

export interface Stores {
  readonly artifacts: ArtifactStore;
  readonly directory: DirectoryStore;
}

/** Servers of one kind, and stores over them. */
export interface OutageStage {
  readonly server: string;
  /** URL of the server. */
  readonly url: string;
  /** Returns stores that make their own connections with their first call. `at` replaces the server's `host:port`. */
  readonly connect: (at?: string) => Stores;
  /** Returns all that the server has of the stores. */
  readonly everything: () => Promise<unknown>;
  /** Whether a commit whose connection broke is done as a whole or not at all. Otherwise new records may be left, which no client knows. */
  readonly hasWholeCommits: boolean;
}

const later = () => Date.now() + 60_000;
const keyOf = (name: string) => hashedKey('Outage', name);
const put = (name: string) => ({ op: 'put', key: keyOf(name), value: name, expiresAt: later() }) as const;
const remove = (name: string) => ({ op: 'remove', key: keyOf(name), until: later() }) as const;
const rows = ({ directory }: Stores) => directory.collection<Row & { readonly name?: string }>('rows');

type Call = readonly [name: string, call: (stores: Stores) => Promise<unknown>];

/** Each call of both contracts, the commits in each of their forms. */
const calls: readonly Call[] = [
  ['read', ({ artifacts }) => artifacts.read([{ key: keyOf('there') }])],
  ['read that follows', ({ artifacts }) => artifacts.read([{ key: keyOf('there'), follow: ['grant'] }])],
  ['commit of one', ({ artifacts }) => artifacts.commit([put('lost one')])],
  ['commit of new ones', ({ artifacts }) => artifacts.commit([put('lost two'), put('lost three')])],
  ['commit of others', ({ artifacts }) => artifacts.commit([put('lost four'), put('there'), remove('lost five')])],
  ['listByAccount', ({ artifacts }) => artifacts.listByAccount('account')],
  ['hit', ({ artifacts }) => artifacts.hit(keyOf('counter'), 60_000)],
  ['hit by -1', ({ artifacts }) => artifacts.hit(keyOf('counter'), 60_000, -1)],
  ['hit by 0', ({ artifacts }) => artifacts.hit(keyOf('counter'), 60_000, 0)],
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

/** Returns the outcome of a call, and its time in milliseconds. */
async function timed(call: Promise<unknown>): Promise<{ readonly outcome: string; readonly time: number }> {
  const began = performance.now();
  const outcome = await call.then(
    () => 'answered',
    (error: unknown) => (error instanceof Error ? 'refused' : 'threw something else'),
  );
  return { outcome, time: performance.now() - began };
}

export function testOutage({ server, url, connect, everything, hasWholeCommits }: OutageStage): void {
  let proxy: TcpProxy;
  let near: Stores;
  let stores: Stores;
  const connectByProxy = () => connect(`127.0.0.1:${proxy.port}`);

  beforeAll(async () => {
    const { hostname, port } = new URL(url);
    proxy = await startTcpProxy({ host: hostname, port: Number(port) });
    [near, stores] = [connect(), connectByProxy()];
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

  const expectRefusals = async () => {
    const results = await Promise.all(calls.map(async ([name, call]) => ({ name, ...(await timed(call(stores))) })));
    expect(results.filter(({ outcome }) => outcome !== 'refused')).toEqual([]);
    expect(results.filter(({ time }) => time > IN_TIME)).toEqual([]);
  };
  /** Expects that the stores work again by the same connections, without a restart. */
  const expectRecovery = async () => {
    await until(async () => (await timed(stores.artifacts.health())).outcome === 'answered');
    const reads = calls.filter(([name]) => /^(read|list|find|get|time|health)/.test(name));
    for (const [name, call] of reads) expect([name, (await timed(call(stores))).outcome]).toEqual([name, 'answered']);
    expect((await stores.artifacts.read([{ key: keyOf('there') }])).size).toBe(1);
  };

  describe(`${server} is unavailable`, () => {
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
      for (const index of hasWholeCommits ? running.keys() : []) {
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

    test('a client that has no connection yet is no exception', async () => {
      const unconnected = connectByProxy();
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
}
