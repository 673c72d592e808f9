/**
 * Starts the servers named by its arguments and keeps them until its standard input ends. The input ends whatever becomes of the process at
 * its other end. The keeper runs in a session of its own, where neither Ctrl-C nor the end of a process group reaches the keeper.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../support/service/free-port.js';
import { PostgresServer } from '../support/stores/postgres-server.js';
import { RedisCluster } from '../support/stores/redis-cluster.js';
import { RedisServer } from '../support/stores/redis-server.js';
import type { ServerVariable } from './variables.js';

interface Kept {
  readonly url: string;
  stop(): Promise<unknown>;
}

/** Report that the keeper prints once, as one line of JSON. */
export interface Report {
  readonly urls: Partial<Record<ServerVariable, string>>;
  /** Reasons why the other servers do not run, and what to do about it. */
  readonly missing: Partial<Record<ServerVariable, string>>;
}

const script = fileURLToPath(new URL('../../../test/servers/mongo', import.meta.url));
const run = promisify(execFile);

const starters: Record<ServerVariable, () => Promise<Kept>> = {
  REDIS_URL: () => RedisServer.start(),
  async REDIS_CLUSTER_URLS() {
    const cluster = await RedisCluster.start();
    return { url: cluster.urls, stop: () => cluster.stop() };
  },
  async MONGODB_URL() {
    const port = `${await freePort()}`;
    const { stdout } = await run(script, ['up', port, `${process.pid}`]);
    return { url: stdout.trim(), stop: () => run(script, ['down', port]) };
  },
  POSTGRES_URL: () => PostgresServer.start(),
};

function reasonOf(error: unknown): string {
  const { code, path, stderr, message } = error as NodeJS.ErrnoException & { stderr?: string };
  if (code === 'ENOENT' && path === 'redis-server') return 'redis-server is not on PATH: apt-get install redis-server';
  return stderr?.trim() || message;
}

process.stdout.on('error', () => {}); // nobody reads any more: the input has ended too
process.stdin.resume();
const released = Promise.race([
  once(process.stdin, 'end'),
  once(process.stdin, 'close'),
  once(process, 'SIGTERM'),
  once(process, 'SIGINT'),
]);

const urls: Report['urls'] = {};
const missing: Report['missing'] = {};
const kept: Kept[] = [];
await Promise.all(
  (process.argv.slice(2) as ServerVariable[]).map(async (variable) => {
    try {
      const server = await starters[variable]();
      kept.push(server);
      urls[variable] = server.url;
    } catch (error) {
      missing[variable] = reasonOf(error);
    }
  }),
);
process.stdout.write(`${JSON.stringify({ urls, missing } satisfies Report)}\n`);
await released;
await Promise.all(kept.map((server) => server.stop()));
process.exit();
