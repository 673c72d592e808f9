/** Issue 5.4, threat J2: a Redis that is killed, hangs, forgets records or loses an answer. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Cluster, Redis } from 'ioredis';
import { redisArtifacts, redisClusterOptions } from 'tenant-idp/adapters/redis';
import { hashedKey, slotOfKey } from '../../../lib/store/artifact-key.js';
import type { ArtifactKey, ArtifactStore, Put } from '../../../lib/store/artifact-store.js';
import { describeRedis } from '../../servers/installed.js';
import { testTogether } from '../../support/service/test-together.js';
import { clusterClient, redisClient } from '../../support/stores/redis-clients.js';
import { RedisCluster } from '../../support/stores/redis-cluster.js';
import { RedisProxy } from '../../support/stores/redis-proxy.js';
import { RedisServer } from '../../support/stores/redis-server.js';
import { IN_TIME } from '../../support/time/in-time.js';
import { until } from '../../support/time/until.js';

const LONG = 60_000;

const put = (key: ArtifactKey, more: Partial<Put> = {}): Put => ({ op: 'put', key, value: 'v', expiresAt: Date.now() + LONG, ...more });
const sameSlot = (key: ArtifactKey, name: string) => hashedKey('Case', name, slotOfKey(key));

/** Returns one call of each kind, all about one slot. */
const calls = (store: ArtifactStore, key: ArtifactKey): Record<string, () => Promise<unknown>> => ({
  read: () => store.read([{ key }]),
  'read several': () => store.read([{ key }, { key: sameSlot(key, 'b') }]),
  'read linked': () => store.read([{ key, follow: ['grant'] }]),
  'commit one': () => store.commit([put(sameSlot(key, `${Math.random()}`))]),
  'commit several': () => store.commit([put(key), put(sameSlot(key, 'b'))]),
  hit: () => store.hit(key, LONG),
});
const everyCall = (store: ArtifactStore, key: ArtifactKey) => ({
  ...calls(store, key),
  listByAccount: () => store.listByAccount('account-1'),
  lease: () => store.lease('keys', 'node-1', LONG),
  health: () => store.health(),
});

/** Makes all calls concurrently. @returns the outcome of each call, and the time of the slowest */
async function tryAll(all: Record<string, () => Promise<unknown>>) {
  const began = performance.now();
  const outcomes = await Promise.all(
    Object.entries(all).map(([name, call]) =>
      call().then(
        () => [name, 'answered'] as const,
        (error: unknown) => [name, error instanceof Error ? 'rejected' : 'odd'] as const,
      ),
    ),
  );
  return { outcomes: Object.fromEntries(outcomes), took: performance.now() - began };
}

const eachIs = (all: object, outcome: string) => Object.fromEntries(Object.keys(all).map((name) => [name, outcome]));

/** Retries a call until it is answered. */
const recovery = (call: () => Promise<unknown>) =>
  until(
    () =>
      call().then(
        () => 'answered',
        (error: unknown) => String(error),
      ),
    (outcome) => outcome === 'answered',
  );

describeRedis('over own Redis servers', () => {
  describe('a Redis that is away', () => {
    const key = hashedKey('Case', 'a');

    interface Stage {
      readonly server: RedisServer;
      readonly client: Redis;
      readonly store: ArtifactStore;
      /** Returns another store, over its own client. */
      storeAt(url: string): Promise<ArtifactStore>;
    }
    /** Registers a test with its own server. */
    const testAlone = (title: string, use: (stage: Stage) => Promise<void>) =>
      testTogether(title, async () => {
        const clients: Redis[] = [];
        const server = await RedisServer.start();
        const storeAt = async (url: string): Promise<ArtifactStore> => {
          const client = redisClient(url);
          clients.push(client);
          const opened = redisArtifacts({ client });
          await opened.open();
          return opened;
        };
        try {
          const store = await storeAt(server.url);
          await use({ server, client: clients[0] as Redis, store, storeAt });
        } finally {
          for (const client of clients) client.disconnect();
          await server.stop();
        }
      });

    testAlone(
      'killed: every call rejects in time, at once and later, and is answered when it is back, without its scripts',
      async ({ server, store }) => {
        const all = everyCall(store, key);
        expect((await tryAll(all)).outcomes).toEqual(eachIs(all, 'answered'));
        const inFlight = tryAll({ ...all, kill: () => server.kill() });
        expect((await inFlight).took).toBeLessThan(IN_TIME);
        for (const pause of [0, 0, 700]) {
          await sleep(pause);
          const { outcomes, took } = await tryAll(all);
          expect(outcomes).toEqual(eachIs(all, 'rejected'));
          expect(took).toBeLessThan(IN_TIME);
        }
        await server.restart();
        await recovery(() => store.health());
        expect((await tryAll(all)).outcomes).toEqual(eachIs(all, 'answered'));
      },
    );

    testAlone('hanging: every call rejects in time, at once and later, and is answered when it goes on', async ({ server, store }) => {
      const all = everyCall(store, key);
      server.pause();
      for (const pause of [0, 0, 500, 1500]) {
        await sleep(pause);
        const early = tryAll(all);
        await sleep(200);
        for (const { outcomes, took } of [await tryAll(all), await early]) {
          expect(outcomes).toEqual(eachIs(all, 'rejected'));
          expect(took).toBeLessThan(IN_TIME);
        }
      }
      server.resume();
      await recovery(() => store.health());
      expect((await tryAll(all)).outcomes).toEqual(eachIs(all, 'answered'));
    });

    testAlone('a call that got no answer is not sent again (J2)', async ({ server, store }) => {
      await store.hit(key, LONG);
      server.pause();
      const lost = await tryAll(Object.fromEntries(Array.from({ length: 5 }, (_, index) => [index, () => store.hit(key, LONG)])));
      expect(lost.outcomes).toEqual(eachIs(lost.outcomes, 'rejected'));
      server.resume();
      await recovery(() => store.health());
      await sleep(300);
      expect((await store.hit(key, LONG, 0)).count).toBeLessThanOrEqual(6);
    });

    testAlone('a commit whose answer was lost rejects, was done once, and is not sent again (J2)', async ({ server, store, storeAt }) => {
      const proxy = await RedisProxy.to(server.url);
      const through = await storeAt(proxy.url);
      await through.commit([put(key)]);
      await through.hit(key, LONG);
      proxy.loseNext();
      const attempt = await tryAll({
        commit: () => through.commit([put(key, { if: 'unconsumed', consumedAt: Date.now() }), put(sameSlot(key, 'bought'))]),
        hit: () => through.hit(key, LONG),
      });
      expect(attempt.outcomes).toEqual({ commit: 'rejected', hit: 'rejected' });
      expect(attempt.took).toBeLessThan(IN_TIME);
      await recovery(() => through.health());
      await sleep(300);
      expect((await through.hit(key, LONG, 0)).count).toBe(2);
      expect((await store.read([{ key }])).get(key)?.version).toBe(2);
      await proxy.close();
    });

    testAlone('a server that forgot its scripts is told them', async ({ client, store }) => {
      const all = everyCall(store, key);
      await client.script('FLUSH');
      expect((await tryAll(all)).outcomes).toEqual(eachIs(all, 'answered'));
    });

    testAlone('an error has nothing of a record on it', async ({ client, store }) => {
      await client.config('SET', 'min-replicas-to-write', '1');
      for (const writes of [[put(key, { value: 'secret' })], [put(key, { value: 'secret' }), put(sameSlot(key, 'b'))]]) {
        const error: unknown = await store.commit(writes).catch((reason: unknown) => reason);
        expect(String(error)).toContain('NOREPLICAS');
        expect(JSON.stringify({ ...(error as object) })).not.toContain('secret');
      }
    });

    testAlone('a primary that has become a replica is left for another (READONLY)', async ({ server, client, store }) => {
      const closed = new Promise((resolve) => client.once('close', resolve));
      await client.replicaof('127.0.0.1', 1);
      const all = calls(store, key);
      expect((await tryAll({ commit: () => store.commit([put(key)]) })).outcomes).toEqual({ commit: 'rejected' });
      await closed;
      const admin = redisClient(server.url, {});
      await admin.replicaof('NO', 'ONE');
      admin.disconnect();
      await recovery(() => store.commit([put(key)]));
      expect((await tryAll(all)).outcomes).toEqual(eachIs(all, 'answered'));
    });
  });

  describe('a node of a Redis Cluster that is away', () => {
    let cluster: RedisCluster;
    let client: Cluster;
    let store: ArtifactStore;
    /** A key in a slot of each node. */
    let keys: ArtifactKey[];

    beforeAll(async () => {
      cluster = await RedisCluster.start();
    });
    beforeEach(async () => {
      client = clusterClient(cluster.urls);
      store = redisArtifacts({ client });
      await store.open();
      keys = await Promise.all(cluster.nodes.map((_, index) => keyAt(index)));
    });
    afterEach(() => client.disconnect());
    afterAll(() => cluster.stop());

    async function keyAt(node: number): Promise<ArtifactKey> {
      for (;;) {
        const key = hashedKey('Case', randomUUID());
        if (Math.floor((await slotNumber(key)) / 5462) === node) return key;
      }
    }
    const slotNumber = async (key: ArtifactKey) => (await client.cluster('KEYSLOT', key)) as number;

    test.each(['killed', 'hanging'])(
      '%s: calls about its slots reject in time, the others are answered, and it recovers',
      async (fault) => {
        const [node, key, other] = [cluster.nodes[0] as RedisServer, keys[0] as ArtifactKey, keys[1] as ArtifactKey];
        const about = calls(store, key);
        expect((await tryAll(about)).outcomes).toEqual(eachIs(about, 'answered'));
        if (fault === 'killed') await node.kill();
        else node.pause();
        for (const pause of [0, 0, 500]) {
          await sleep(pause);
          const { outcomes, took } = await tryAll(about);
          expect(outcomes).toEqual(eachIs(about, 'rejected'));
          expect(took).toBeLessThan(IN_TIME);
        }
        expect((await tryAll(calls(store, other))).outcomes).toEqual(eachIs(about, 'answered'));
        await expect(store.health()).rejects.toThrow();
        if (fault === 'killed') await node.restart();
        else node.resume();
        await recovery(() => store.hit(key, LONG));
        await recovery(() => store.health());
        expect((await tryAll(about)).outcomes).toEqual(eachIs(about, 'answered'));
      },
    );

    test('a call whose answer was lost was done once, and is not sent again (J2)', async () => {
      const proxies = await Promise.all(cluster.nodes.map(({ url }) => RedisProxy.to(url)));
      const natMap = Object.fromEntries(
        cluster.nodes.map(({ port }, index) => [`127.0.0.1:${port}`, { host: '127.0.0.1', port: proxies[index]?.port ?? 0 }]),
      );
      const mapped = clusterClient(cluster.urls, { ...redisClusterOptions, natMap });
      const through = redisArtifacts({ client: mapped });
      await through.open();
      const [proxy, key] = [proxies[0] as RedisProxy, keys[0] as ArtifactKey];
      await through.hit(key, LONG);
      proxy.loseNext();
      const { outcomes, took } = await tryAll({ hit: () => through.hit(key, LONG) });
      expect(outcomes).toEqual({ hit: 'rejected' });
      expect(took).toBeLessThan(IN_TIME);
      await recovery(() => through.hit(key, LONG, 0));
      await sleep(300);
      expect((await through.hit(key, LONG, 0)).count).toBe(2);
      mapped.disconnect();
      await Promise.all(proxies.map((one) => one.close()));
    });

    test('slots that move are followed', async () => {
      const key = keys[0] as ArtifactKey;
      const slot = await slotNumber(key);
      const id = await cluster.ask(cluster.nodes[1] as RedisServer, 'CLUSTER', 'MYID');
      for (const node of [1, 0, 2]) await cluster.ask(cluster.nodes[node] as RedisServer, 'CLUSTER', 'SETSLOT', slot, 'NODE', id);
      const about = calls(store, key);
      expect((await tryAll(about)).outcomes).toEqual(eachIs(about, 'answered'));
    });
  });
});
