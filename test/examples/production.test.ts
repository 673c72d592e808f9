/**
 * Issues 5.6 and 44.3: the example over Redis and MongoDB, and over PostgreSQL, in production. Two processes serve one port, as an operator
 * would run them.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { withServer } from '../servers/when.js';
import { Agent, type Answer, authorizeUrl, basic, createPkce, type Json, signIn } from '../support/client/agent.js';
import type { Sending } from '../support/client/send.js';
import { type RunningExample, runExample, startExample } from '../support/service/example.js';
import { freePort } from '../support/service/free-port.js';
import { databaseUrl, dropDatabase, makeDatabase } from '../support/stores/places.js';
import { startTcpProxy, type TcpProxy } from '../support/stores/tcp-proxy.js';
import { until } from '../support/time/until.js';

const issuer = 'https://login.example.test';
const redirectUri = 'https://app.example.test/callback';
const password = 'correct horse battery';

/** Browser that sends requests for the issuer to the port, as a proxy that ends TLS does, each on a connection of its own. */
class ProxiedAgent extends Agent {
  constructor(readonly origin: string) {
    super({ connection: 'close', 'x-forwarded-for': '203.0.113.7' });
  }
  override async request(url: string, sending?: Sending): Promise<Answer> {
    const answer = await super.request(url.replace(issuer, this.origin), sending);
    const location = answer.location?.replace(this.origin, issuer);
    return { ...answer, url, location };
  }
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'production-'));
});
afterAll(() => rm(folder, { recursive: true }));

describe('the production example', () => {
  test('does not start without its settings: it names them, and the command that makes them', async () => {
    const { code, stdout, stderr } = await runExample('production', {
      IDP_KEY: 'x'.repeat(43),
      DATABASE_URL: '',
      ISSUER: '',
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    for (const name of ['DATABASE_URL', 'ISSUER']) expect(stderr).toContain(name);
    expect(stderr).not.toContain('IDP_KEY');
    expect(stderr).toContain('dist/examples/production/make-env.js');
  });

  test.each([
    [{ DATABASE_URL: 'mongodb://user:secret@localhost:27017/' }, /^The URL of MongoDB has to name a database.*\n$/],
    [{ DATABASE_URL: 'mysql://user:secret@localhost/idp' }, /^The URL of the database has to begin with postgres:.*\n$/],
    [{ DATABASE_URL: 'file:./idp.db', PROCESSES: '2' }, /^PROCESSES is 2, and one process alone can use a file: .*\n$/],
    [{ DATABASE_URL: 'file://idp.db' }, /^The URL of a file is file: and a path without parameters.*\n$/],
    [{ DATABASE_URL: 'file:./idp.db?mode=ro' }, /^The URL of a file is file: and a path without parameters.*\n$/],
    [{ PORT: 'http' }, /^PORT is "http": .*\n$/],
  ])('does not start with %j: one line says why, and no secret', async (env, line) => {
    const { code, stderr } = await runExample('production', { ...(await madeEnv()), ...env });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(line) });
    expect(stderr).not.toContain('secret');
  });

  test('makes other keys each time, in a file that nobody else reads, and never over another', async () => {
    const [one, other] = [await madeEnv(), await madeEnv()];
    const secrets = ['IDP_KEY', 'COOKIE_KEY', 'SUBJECT_SALT', 'WEB_SECRET'] as const;
    for (const name of secrets) expect(one[name]).not.toBe(other[name]);
    const file = join(folder, '.env');
    await writeFile(file, 'IDP_KEY=mine');
    expect(await runExample('production/make-env', {}, { args: [file] })).toMatchObject({ code: 1, stderr: expect.stringContaining(file) });
    expect(await readFile(file, 'utf8')).toBe('IDP_KEY=mine');
  });

  test.each(['file:./idp#1.db', "file:./ann's idp.db", 'postgres://idp:$ecret@localhost/idp'])(
    'has %s in the file of its keys as it is',
    async (url) => {
      expect(await madeEnv({ DATABASE_URL: url })).toMatchObject({ DATABASE_URL: url });
    },
  );

  const isRoot = process.getuid?.() === 0;
  (isRoot ? test.skip : test)('says that its file of keys cannot be read (not as root, who may read everything)', async () => {
    const cwd = await mkdtemp(join(folder, 'unreadable-'));
    await writeFile(join(cwd, '.env'), '', { mode: 0o000 });
    const { code, stderr } = await runExample('production', {}, { cwd });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^The file \.env cannot be read\..*\n$/) });
  });

  withServer('REDIS_URL', (redis) => withServer('MONGODB_URL', (database) => serving({ redis, database })));
  withServer('POSTGRES_URL', (database) => serving({ database }));
});

/** Returns the settings that the example makes for itself. */
async function madeEnv(env: Record<string, string> = {}): Promise<Record<string, string>> {
  const file = join(folder, `${randomUUID()}.env`);
  expect((await runExample('production/make-env', env, { args: [file] })).stderr).toBe('');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  return parseEnv(await readFile(file, 'utf8')) as Record<string, string>;
}

interface Servers {
  /** If absent, the database has the artifacts too. */
  readonly redis?: string;
  readonly database: string;
}

function serving(servers: Servers): void {
  const space = `production-${randomUUID()}`;
  const database = new URL(databaseUrl(servers.database, space));
  let network: TcpProxy;
  let origin: string;
  let env: Record<string, string>;
  let example: RunningExample;

  beforeAll(async () => {
    const port = await freePort();
    origin = `http://127.0.0.1:${port}`;
    await makeDatabase(servers.database, space);
    const artifacts = servers.redis === undefined ? database : new URL(servers.redis);
    network = await startTcpProxy({ host: artifacts.hostname, port: Number(artifacts.port) });
    artifacts.host = `127.0.0.1:${network.port}`;
    env = {
      ...(await madeEnv()),
      NODE_ENV: 'production',
      ISSUER: issuer,
      PORT: `${port}`,
      ...(servers.redis !== undefined && { REDIS_URL: artifacts.href }),
      REDIS_PREFIX: `${space}:`,
      DATABASE_URL: database.href,
      WEB_REDIRECT_URI: redirectUri,
    };
    example = await startExample('production', env);
    const set = await runExample('production/password', env, { args: ['alice@acme.test'], input: `${password}\n` });
    expect(set).toMatchObject({ code: 0, stderr: '' });
  });
  afterAll(async () => {
    await example?.stop();
    await network?.close();
    await dropDatabase(servers.database, space);
  });

  /** Returns the answer to a load balancer: whether the service is ready. */
  async function health(): Promise<{ status: number; json: Json }> {
    const response = await fetch(`${origin}/healthz`, { headers: { connection: 'close' } });
    return { status: response.status, json: await response.json() };
  }

  /** Returns the number of requests of each of two processes, by process id. */
  async function processes(): Promise<ReadonlyMap<number, number>> {
    const found = new Map<number, number>();
    for (let attempt = 0; found.size < 2 && attempt < 100; attempt += 1) {
      const { json } = await health();
      found.set(json.process, json.requests);
    }
    return found;
  }

  /** Runs `steps`. The operating system chooses the process of each request. @returns whether both processes had several. */
  async function landsOnBoth(steps: () => Promise<void>): Promise<boolean> {
    const before = await processes();
    await steps();
    const after = await processes();
    return [...after].every(([id, requests]) => requests - (before.get(id) ?? 0) > 1);
  }

  async function post(agent: Agent, path: string, fields: Record<string, string>): Promise<{ status: number; json: Json }> {
    const { status, body } = await agent.post(`${issuer}${path}`, fields, { authorization: basic('web', env.WEB_SECRET ?? '') });
    return { status, json: JSON.parse(body) };
  }
  const refresh = (agent: Agent, token: string) => post(agent, '/connect/token', { grant_type: 'refresh_token', refresh_token: token });

  async function obtainCode(agent: Agent, parameters: Record<string, string> = {}) {
    const { verifier, challenge } = createPkce();
    const url = authorizeUrl(issuer, {
      redirect_uri: redirectUri,
      scope: 'openid profile offline_access',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      ...parameters,
    });
    const { location = '' } = await signIn(agent, url, 'alice@acme.test', password);
    return { code: new URL(location).searchParams.get('code') ?? '', verifier };
  }
  const redeem = (agent: Agent, { code, verifier }: { code: string; verifier: string }) =>
    post(agent, '/connect/token', { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier });

  test('says that it serves, and nothing besides', () => {
    expect(example).toMatchObject({ stdout: expect.stringMatching(/^2 processes serve https:\/\/login\.example\.test .*\n$/), stderr: '' });
  });

  test('signs in, redeems and refreshes over both processes', async () => {
    const journey = async () => {
      const agent = new ProxiedAgent(origin);
      const tokens = await redeem(agent, await obtainCode(agent));
      expect(tokens).toMatchObject({ status: 200, json: { refresh_token: expect.any(String), id_token: expect.any(String) } });
      expect((await refresh(agent, tokens.json.refresh_token)).status).toBe(200);
      expect([...agent.cookies.keys()].some((name) => name.startsWith('__Host-'))).toBe(true);
    };
    await until(
      () => landsOnBoth(journey),
      (both) => both,
    );
    expect((await processes()).size).toBe(2);
  });

  test('goes on when a process is killed, and another takes its place', async () => {
    const agent = new ProxiedAgent(origin);
    const { json } = await redeem(agent, await obtainCode(agent));
    const [victim = 0] = (await processes()).keys();
    process.kill(victim, 'SIGKILL');
    const refreshed = await refresh(agent, json.refresh_token);
    expect(refreshed).toMatchObject({ status: 200, json: { refresh_token: expect.any(String) } });
    expect((await redeem(agent, await obtainCode(agent, { prompt: 'none' }))).status).toBe(200);

    await until(processes, (found) => found.size === 2 && !found.has(victim));
    expect(example.stderr).toBe(`Process ${victim} ended (SIGKILL); another takes its place.\n`);
    const again = await refresh(agent, refreshed.json.refresh_token);
    const introspections = async () => {
      for (let count = 0; count < 10; count += 1) {
        const { json: token } = await post(agent, '/connect/introspect', { token: again.json.access_token });
        expect(token.active).toBe(true);
      }
    };
    await until(
      () => landsOnBoth(introspections),
      (both) => both,
    );
  });

  test('is ready when its stores are, and says which one is not; it lives all the same', async () => {
    expect(await health()).toMatchObject({ status: 200, json: { status: 'up', artifacts: 'up', directory: 'up' } });
    await network.refuse();
    await until(health, ({ status }) => status === 503);
    expect(await health()).toMatchObject({
      status: 503,
      json: { status: 'down', artifacts: 'down', directory: servers.redis === undefined ? 'down' : 'up' },
    });
    expect((await fetch(`${origin}/livez`, { headers: { connection: 'close' } })).status).toBe(200);
    await network.pass();
    await until(health, ({ status }) => status === 200);
  });

  test('ends when it is told to: with exit code 0, and no process left', async () => {
    const ids = [...(await processes()).keys()];
    expect(ids).toHaveLength(2);
    expect(await example.stop()).toBe(0);
    for (const id of ids) expect(() => process.kill(id, 0)).toThrow('ESRCH');
    await expect(fetch(`${origin}/healthz`)).rejects.toThrow();
  });

  test.each([
    [{ ISSUER: 'http://login.example.test' }, /issuer: expected an https URL, such as '[^']+' \(in production\)/],
    servers.redis === undefined
      ? [{ DATABASE_URL: 'postgres://127.0.0.1:1/idp' }, /'postgres' is unavailable.*\[store_unavailable\].*ECONNREFUSED/]
      : [{ REDIS_URL: 'redis://127.0.0.1:1' }, /ECONNREFUSED[\s\S]*'redis' is unavailable.*\[store_unavailable\]/],
  ] as const)('does not start in production with %j', async (wrong, why) => {
    expect(await runExample('production', { ...env, ...wrong })).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(why) });
  });
}
