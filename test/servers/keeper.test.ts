/** Servers of a run end with the run, however the run ends. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { expect, test } from '@jest/globals';
import pg from 'pg';
import { until } from '../support/time/until.js';
import type { Report } from './keeper.js';
import type { ServerVariable } from './variables.js';
import { isStarted } from './when.js';

/** Starts a keeper of servers, as a run does. Returns the keeper, its exit and its report. */
async function keep(variables: readonly ServerVariable[], env: Readonly<Record<string, string>> = {}) {
  const keeper = spawn(process.execPath, ['dist/test/servers/keeper.js', ...variables], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(keeper, 'exit');
  const [line] = (await once(createInterface(keeper.stdout), 'line')) as [string];
  return { keeper, exited, report: JSON.parse(line) as Report };
}

const answers = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname, () => {
      resolve(true);
      socket.destroy();
    });
    socket.once('error', () => resolve(false));
  });

const urlsOf = ({ urls }: Report) => Object.values(urls).flatMap((value) => value.split(','));

const testOf = (variable: ServerVariable) => (isStarted(variable) ? test : test.skip);

testOf('REDIS_URL')('Redis and its cluster end when nobody holds the other end of the pipe', async () => {
  const { keeper, exited, report } = await keep(['REDIS_URL', 'REDIS_CLUSTER_URLS']);
  const urls = urlsOf(report);
  expect(urls).toHaveLength(4);
  for (const url of urls) expect(await answers(url)).toBe(true);
  keeper.stdin.destroy();
  await exited;
  for (const url of urls) expect(await answers(url)).toBe(false);
});

testOf('MONGODB_URL').each(['SIGTERM', 'SIGKILL'] as const)(
  'the MongoDB-compatible server ends when its keeper gets %s',
  async (signal) => {
    const { keeper, exited, report } = await keep(['MONGODB_URL']);
    const [url = ''] = urlsOf(report);
    expect(await answers(url)).toBe(true);
    keeper.kill(signal);
    await exited;
    await until(async () => !(await answers(url)));
  },
);

testOf('POSTGRES_URL').each(['SIGTERM', 'SIGKILL'] as const)(
  'PostgreSQL ends with all of its processes when its keeper gets %s',
  async (name) => {
    const { keeper, exited, report } = await keep(['POSTGRES_URL']);
    const [url = ''] = urlsOf(report);
    expect(await answers(url)).toBe(true);
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    keeper.kill(name);
    await exited;
    await until(async () => !(await answers(url)));
    await until(() => !existsSync(`/proc/${rows[0]?.pid}`));
  },
);

test('what is missing comes with a reason and a remedy', async () => {
  const { keeper, exited, report } = await keep(['REDIS_URL', 'REDIS_CLUSTER_URLS'], { PATH: '/nowhere' });
  keeper.stdin.end();
  await exited;
  const reason = 'redis-server is not on PATH: apt-get install redis-server';
  expect(report).toEqual({ urls: {}, missing: { REDIS_URL: reason, REDIS_CLUSTER_URLS: reason } });
});
