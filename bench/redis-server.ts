import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';

/** A Redis server of the bench's own: nothing is written to disk, and nothing is left when it stops. */
export interface RedisServer {
  readonly version: string;
  /** @param database its number. */
  url(database: number): string;
  /** Removes what every database holds. */
  clear(): Promise<void>;
  stop(): Promise<void>;
}

const LONGEST_START = 5000;

/** @throws where no `redis-server` is on the path. */
export async function startRedisServer(): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'tenant-idp-bench-'));
  const port = await freePort();
  const settings = { port, bind: '127.0.0.1', dir: folder, save: '', appendonly: 'no' };
  const server = spawn(
    'redis-server',
    Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]),
    { stdio: 'ignore' },
  );
  const failed = once(server, 'error').then(([error]) => Promise.reject(error as Error));
  const client = new Redis(port, '127.0.0.1', { retryStrategy: (attempts) => (attempts * 50 < LONGEST_START ? 50 : null) });
  client.on('error', () => {}); // until it listens
  const [, version = '?'] = /redis_version:(\S+)/.exec(await Promise.race([client.info('server'), failed])) ?? [];
  return {
    version,
    url: (database) => `redis://127.0.0.1:${port}/${database}`,
    async clear() {
      await client.flushall();
    },
    async stop() {
      client.disconnect();
      if (server.exitCode === null && server.kill()) await once(server, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no address');
  return address.port;
}
