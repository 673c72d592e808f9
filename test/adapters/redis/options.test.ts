/** Issue 5.1: clients and servers that the store refuses. */
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { redisArtifacts, redisClusterOptions, redisOptions } from 'tenant-idp/adapters/redis';
import type { ConfigError, IdpError } from '../../../lib/errors.js';
import { hashedKey } from '../../../lib/store/artifact-key.js';
import { describeRedis } from '../../servers/installed.js';
import { freePort } from '../../support/service/free-port.js';
import { redisClient } from '../../support/stores/redis-clients.js';
import { RedisProxy } from '../../support/stores/redis-proxy.js';
import { RedisServer } from '../../support/stores/redis-server.js';

const thrownBy = (make: () => unknown): ConfigError => {
  try {
    make();
  } catch (error) {
    return error as ConfigError;
  }
  throw new Error('nothing was thrown');
};

const refused = (client: Redis | Cluster, prefix?: string) =>
  thrownBy(() => redisArtifacts({ client, ...(prefix === undefined ? {} : { prefix }) })).problems.map(({ path }) => path);

describe('clients whose options would break a promise are refused', () => {
  const single = (options: object) => new Redis({ ...redisOptions, ...options, lazyConnect: true });
  const cluster = ({ redisOptions = {}, ...options }: { redisOptions?: object; [option: string]: unknown }) =>
    new Cluster([], {
      ...redisClusterOptions,
      ...options,
      redisOptions: { ...redisClusterOptions.redisOptions, ...redisOptions },
      lazyConnect: true,
    });

  test.each([
    [{ enableOfflineQueue: true }, 'client.options.enableOfflineQueue'],
    [{ autoResendUnfulfilledCommands: true }, 'client.options.autoResendUnfulfilledCommands'],
    [{ commandTimeout: 1000 }, 'client.options.commandTimeout'],
    [{ socketTimeout: 1000 }, 'client.options.socketTimeout'],
    [{ keyPrefix: 'app:' }, 'client.options.keyPrefix'],
    [{ enableAutoPipelining: true }, 'client.options.enableAutoPipelining'],
  ])('a single server: %j', (options, path) => {
    expect(refused(single(options))).toEqual([path]);
  });

  test.each([
    [{ enableOfflineQueue: true }, 'client.options.enableOfflineQueue'],
    [{ retryDelayOnFailover: 100 }, 'client.options.retryDelayOnFailover'],
    [{ scaleReads: 'slave' }, 'client.options.scaleReads'],
    [{ keyPrefix: 'app:' }, 'client.options.keyPrefix'],
    [{ enableAutoPipelining: true }, 'client.options.enableAutoPipelining'],
    [{ redisOptions: { commandTimeout: 1000 } }, 'client.options.redisOptions.commandTimeout'],
    [{ redisOptions: { autoResendUnfulfilledCommands: true } }, 'client.options.redisOptions.autoResendUnfulfilledCommands'],
  ])('a Cluster: %j', (options, path) => {
    expect(refused(cluster(options))).toEqual([path]);
  });

  test('all at once, with what was expected and what was found: the defaults of ioredis', () => {
    const { code, message } = thrownBy(() => redisArtifacts({ client: new Redis({ lazyConnect: true }) }));
    expect(code).toBe('invalid_options');
    expect(message).toContain('client.options.enableOfflineQueue: expected false, as in redisOptions, got true');
    expect(message).toContain('client.options.autoResendUnfulfilledCommands: expected false, as in redisOptions, got true');
    expect(refused(new Cluster([], { lazyConnect: true })).length).toBeGreaterThan(2);
  });

  test.each(['a{b}', 'a b', 'a\n', 'x'.repeat(65)])('a prefix %j', (prefix) => {
    expect(refused(single({}), prefix)).toEqual(['prefix']);
  });

  test('and the recommended ones are not', () => {
    expect(() => redisArtifacts({ client: single({}) })).not.toThrow();
    expect(() => redisArtifacts({ client: cluster({}), prefix: '' })).not.toThrow();
  });
});

describeRedis('over own Redis servers', () => {
  describe('threat J6: servers that would drop records are refused', () => {
    const started: (RedisServer | RedisProxy)[] = [];
    const clients: Redis[] = [];
    afterEach(() => {
      for (const client of clients.splice(0)) client.disconnect();
    });
    afterAll(() => Promise.all(started.map((server) => (server instanceof RedisServer ? server.stop() : server.close()))));

    const start = async (...args: string[]) => {
      const server = await RedisServer.start({ args });
      started.push(server);
      return server;
    };
    const storeAt = (url: string, options: object = redisOptions) => {
      const client = redisClient(url, options);
      clients.push(client);
      return redisArtifacts({ client });
    };
    const refusal = (store: { open(): Promise<void> }) =>
      store.open().then(
        () => undefined,
        ({ code, details }: IdpError) => ({ code, ...details }),
      );

    test.each([
      ['allkeys-lru', '0'],
      ['volatile-ttl', '100mb'],
    ])('maxmemory-policy %s with maxmemory %s', async (policy, maxmemory) => {
      const server = await start('--maxmemory-policy', policy, '--maxmemory', maxmemory);
      expect(await refusal(storeAt(server.url))).toMatchObject({
        code: 'store_unfit',
        setting: 'maxmemory-policy',
        found: policy,
        expected: 'noeviction',
      });
    });

    test('a server that is too old', async () => {
      const proxy = await RedisProxy.to((await start()).url);
      started.push(proxy);
      proxy.answer = (text) =>
        text.replace(/(?<=redis_version:)\S+/, (version) => '6.0.16'.padEnd(version.length, '0').slice(0, version.length));
      expect(await refusal(storeAt(proxy.url))).toMatchObject({ code: 'store_unfit', setting: 'redis_version', expected: '6.2 or later' });
    });

    test('a server that does not let one ask is taken as it is', async () => {
      const server = await start('--user', 'tenant', 'on', '>secret', '~*', '+@all', '-info');
      expect(await refusal(storeAt(server.url.replace('//', '//tenant:secret@')))).toBeUndefined();
    });

    test('a server that is full refuses writes whole, and can be read', async () => {
      const server = await start('--maxmemory', '4mb');
      const store = storeAt(server.url);
      await store.open();
      const put = (name: string, more: object = {}) =>
        ({ op: 'put', key: hashedKey('Case', name, 'slot'), value: 'x'.repeat(50_000), expiresAt: Date.now() + 60_000, ...more }) as const;
      let kept = 0;
      const full = await (async () => {
        for (; kept < 200; kept++) await store.commit([put(`${kept}`, { account: 'account-1' })]);
      })().catch((error: Error) => error);
      expect(String(full)).toContain('OOM');
      expect(kept).toBeGreaterThan(1);
      await expect(store.commit([put('a'), put('b')])).rejects.toThrow('OOM');
      expect((await store.read([put('a'), put('b')])).size).toBe(0);
      expect(await store.listByAccount('account-1')).toHaveLength(kept);
    });

    test('a server that is not up yet is waited for, also by a client that has not connected', async () => {
      const port = await freePort();
      const stores = [{}, { lazyConnect: true }].map((more) => storeAt(`redis://127.0.0.1:${port}`, { ...redisOptions, ...more }));
      const opening = Promise.all(stores.map((store) => store.open()));
      started.push(await RedisServer.start({ port }));
      await opening;
      await Promise.all(stores.map((store) => store.health()));
    });

    test('a server that is not there, and a client that was ended, are unavailable', async () => {
      const gone = storeAt(`redis://127.0.0.1:${await freePort()}`);
      const ended = storeAt((await start()).url);
      clients.at(-1)?.disconnect();
      expect(await Promise.all([refusal(gone), refusal(ended)])).toEqual([
        expect.objectContaining({ code: 'store_unavailable' }),
        expect.objectContaining({ code: 'store_unavailable' }),
      ]);
      await expect(gone.health()).rejects.toThrow('not ready');
    });
  });
});
