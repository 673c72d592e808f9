/** Issue 5.1: behind Sentinel, the store continues with the replica that takes over. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { redisArtifacts, redisOptions } from 'tenant-idp/adapters/redis';
import { hashedKey } from '../../../lib/store/artifact-key.js';
import type { ArtifactStore } from '../../../lib/store/artifact-store.js';
import { describeRedis } from '../../servers/installed.js';
import { connected, redisClient } from '../../support/stores/redis-clients.js';
import { RedisServer } from '../../support/stores/redis-server.js';
import { IN_TIME, LIMIT_MS } from '../../support/time/in-time.js';

const LONG = 60_000;
/**
 * Milliseconds of silence after which another server takes over. A busy machine is silent for longer than the value with `npm run prove`.
 */
const DOWN_AFTER = process.env.PROVE ? 500 : 5000;
const key = hashedKey('Case', 'a');
const put = () => ({ op: 'put', key, value: 'kept', expiresAt: Date.now() + LONG, account: 'account-1' }) as const;

describeRedis('over own Redis servers', () => {
  describe('Redis behind Sentinel', () => {
    let primary: RedisServer;
    let replica: RedisServer;
    let sentinel: RedisServer;
    let client: Redis;
    let store: ArtifactStore;

    beforeAll(async () => {
      primary = await RedisServer.start({ args: ['--repl-diskless-sync-delay', '0'] });
      replica = await RedisServer.start({ args: ['--replicaof', '127.0.0.1', `${primary.port}`] });
      const config = [
        `sentinel monitor idp 127.0.0.1 ${primary.port} 1`,
        `sentinel down-after-milliseconds idp ${DOWN_AFTER}`,
        'sentinel failover-timeout idp 10000',
      ].join('\n');
      sentinel = await RedisServer.start({ config, args: ['--sentinel'] });
      const watch = redisClient(sentinel.url, {});
      await connected(watch);
      while (((await watch.call('SENTINEL', 'REPLICAS', 'idp')) as unknown[]).length === 0) await sleep(100);
      watch.disconnect();
      client = new Redis({ ...redisOptions, name: 'idp', sentinels: [{ host: '127.0.0.1', port: sentinel.port }] });
      client.on('error', () => {});
      store = redisArtifacts({ client });
      await store.open();
    });
    afterAll(async () => {
      client.disconnect();
      await Promise.all([primary, replica, sentinel].map((server) => server.stop()));
    });

    test('a primary that dies is replaced: calls reject in time until then, and what the replica had is kept', async () => {
      await store.commit([put()]);
      while ((await client.wait(1, 500)) < 1) await sleep(50);
      await primary.kill();
      let rejected = 0;
      for (const deadline = Date.now() + LIMIT_MS; Date.now() < deadline; await sleep(50)) {
        const began = performance.now();
        const result = await store.commit([put()]).catch(() => undefined);
        expect(performance.now() - began).toBeLessThan(IN_TIME);
        if (result?.ok) break;
        rejected++;
      }
      expect(rejected).toBeGreaterThan(0);
      expect(client.stream.remotePort).toBe(replica.port);
      expect((await store.read([{ key }])).get(key)).toMatchObject({ value: 'kept', version: 2 });
      expect(await store.listByAccount('account-1')).toHaveLength(1);
      await store.health();
    });
  });
});
