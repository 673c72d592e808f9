/** Issue 11 C: the whole service over a Redis that starts late, or takes no writes. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, test } from '@jest/globals';
import { redisArtifacts } from 'tenant-idp/adapters/redis';
import type { ArtifactKind, Extension, ExtensionContext } from 'tenant-idp/extension';
import { describeRedis } from '../../servers/installed.js';
import { withServer } from '../../servers/when.js';
import { freePort } from '../../support/service/free-port.js';
import { startIdp } from '../../support/service/idp.js';
import { ownPrefix, redisClient } from '../../support/stores/redis-clients.js';
import { RedisServer } from '../../support/stores/redis-server.js';

withServer('REDIS_URL', (url) => {
  const ends: (() => unknown)[] = [];
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });

  describeRedis('over an own Redis server', () => {
    test('C: a Redis that comes up after 4 s is waited for; one that has too few replicas to take writes is read-only', async () => {
      const port = await freePort();
      const client = redisClient(`redis://127.0.0.1:${port}`);
      ends.push(() => client.disconnect());
      const starting = startIdp({ artifacts: redisArtifacts({ client }) });
      starting.catch(() => {});
      await pause(4000);
      const server = await RedisServer.start({ port });
      ends.push(() => server.stop());
      const service = await starting;
      ends.push(() => service.close());
      expect(await service.idp.health()).toMatchObject({ status: 'up', artifacts: 'up' });

      await client.config('SET', 'min-replicas-to-write', '1');
      await pause(1100);
      expect(await service.idp.health()).toMatchObject({ status: 'down', artifacts: 'read-only', directory: 'up' });
      await client.config('SET', 'min-replicas-to-write', '0');
      await pause(1100);
      expect(await service.idp.health()).toMatchObject({ status: 'up', artifacts: 'up' });
    });
  });

  test('house §5: an extension counts in windows, and keeps records for lifetimes, that are no whole number of milliseconds', async () => {
    const states: ArtifactKind = { name: 'links.states', lifetimeSeconds: 60 };
    let context!: ExtensionContext;
    const extension: Extension = {
      name: 'links',
      artifacts: [states],
      routes(_, given) {
        context = given;
      },
    };
    const client = redisClient(url);
    ends.push(() => client.disconnect());
    const service = await startIdp({ artifacts: redisArtifacts({ client, prefix: ownPrefix() }), extensions: [extension] });
    ends.push(() => service.close());
    expect(await context.limits.attempts('tries', 60_000 / 7)).toMatchObject({ count: 1 });
    const kept = context.records.artifact(states);
    expect(await kept.put('a', 1, { lifetimeSeconds: 60 / 7 })).toBe(true);
    expect(await kept.update('a', () => 2, { lifetimeSeconds: 60 / 11 })).toBe(2);
    expect(await kept.read('a')).toBe(2);
  });
});
