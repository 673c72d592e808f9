/**
 * Issue 5: a store that is killed and restarted under load. The service gives no wrong answer, and everything that was granted still exists
 * afterwards.
 */
import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { MongoClient } from 'mongodb';
import type { IdentityProviderOptions } from 'tenant-idp';
import { mongoArtifacts, mongoDirectory, mongoOptions } from 'tenant-idp/adapters/mongo';
import { redisArtifacts } from 'tenant-idp/adapters/redis';
import { describePostgres, describeRedis } from '../servers/installed.js';
import { isStarted, withServer } from '../servers/when.js';
import { authorizeUrl, createPkce } from '../support/client/agent.js';
import { isActive, refresh, responseOf } from '../support/client/steps.js';
import { freePort } from '../support/service/free-port.js';
import { startIdp } from '../support/service/idp.js';
import { testTogether } from '../support/service/test-together.js';
import { connect } from '../support/stores/places.js';
import { PostgresServer } from '../support/stores/postgres-server.js';
import { ownPrefix, redisClient } from '../support/stores/redis-clients.js';
import { RedisServer } from '../support/stores/redis-server.js';
import { startTcpProxy } from '../support/stores/tcp-proxy.js';
import { IN_TIME, LIMIT_MS } from '../support/time/in-time.js';
import { type Load, type Noted, startLoad } from '../support/time/load.js';
import { until } from '../support/time/until.js';

const KILLS = process.env.PROVE ? 10 : 1;

const AWAY = 1500;

interface Stage {
  readonly stores: Pick<IdentityProviderOptions, 'artifacts' | 'directory'>;
  kill(): Promise<void> | void;
  /** Resolves when the store answers. */
  restore(): Promise<void>;
  end(): Promise<void>;
}

async function killUnderLoad(name: string, set: () => Promise<Stage>): Promise<void> {
  const { stage, service } = await patiently(() => started(set));
  const load = await patiently(() => startLoad(service.issuer));
  const outages: { readonly from: number; readonly to: number }[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    await pause(700);
    const before = load.noted.length;
    await stage.kill();
    const from = performance.now();
    await pause(AWAY);
    const to = performance.now();
    await stage.restore();
    const restored = load.noted.length;
    outages.push({ from, to });
    await untilWorking(load, restored);
    await until(() => load.noted.length > before + 20);
  }
  await load.stop();

  const outageOf = ({ began }: Noted) => outages.find(({ from, to }) => began > from && began < to);
  const during = load.noted.filter((each) => each.ended < (outageOf(each)?.to ?? 0));
  const slowest = load.noted.filter(outageOf).sort((a, b) => b.ended - b.began - (a.ended - a.began))[0];
  expect(load.noted.filter(({ said }) => said === 'wrong')).toEqual([]);
  expect(during.filter(({ said }) => said !== 'away')).toEqual([]);
  expect(milliseconds(slowest)).toBeLessThan(IN_TIME);
  for (const what of kinds) expect([what, load.noted.some((each) => each.what === what && each.said === 'right')]).toEqual([what, true]);

  // Everything that was granted still exists.
  const lost: string[] = [];
  for (const token of load.ledger) if (!(await isActive(service.issuer, token))) lost.push(token);
  expect(lost).toEqual([]);
  for (const token of load.families.values()) expect((await refresh(service.issuer, token)).status).toBe(200);
  for (const agent of load.agents) {
    const url = authorizeUrl(service.issuer, { prompt: 'none', code_challenge: createPkce().challenge, code_challenge_method: 'S256' });
    expect(responseOf(await agent.get(url)).get('code')).not.toBeNull();
  }
  expect(await service.idp.health()).toMatchObject({ status: 'up' });
  const told = {
    name,
    kills: KILLS,
    answers: load.noted.length,
    away: load.noted.filter(({ said }) => said === 'away').length,
    during: during.length,
    slowest: Math.round(milliseconds(slowest)),
    ledger: load.ledger.length,
  };
  if (process.env.PROVE) process.stderr.write(`${JSON.stringify(told)}\n`);
  await service.close();
  await stage.end();
}

/**
 * Starts a service over new stores. Each service has another issuer, so an interrupted seed leaves users without a password to the next
 * service.
 */
async function started(set: () => Promise<Stage>) {
  const stage = await set();
  try {
    // A family whose answer was lost in the outage must be alive after it, however slow the restart of the server is.
    return { stage, service: await startIdp({ ...stage.stores, lifetimes: { refreshTokenGrace: 60 } }) };
  } catch (error) {
    await stage.end();
    throw error;
  }
}

/** Tries to set up again, because the store of a busy machine may answer too late before any outage. */
async function patiently<T>(make: () => Promise<T>): Promise<T> {
  for (let left = 5; ; left -= 1) {
    try {
      return await make();
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}

const milliseconds = (noted: Noted | undefined): number => (noted ? noted.ended - noted.began : 0);
const kinds = ['refresh', 'PAR', 'authorize', 'code', 'client credentials', 'introspection', 'userinfo', 'sign-in'];

/** Waits until every kind of request succeeds again, without a restart of the service. */
async function untilWorking({ noted }: Load, from: number): Promise<void> {
  const rightSince = (what: string) => noted.slice(from).some((each: Noted) => each.what === what && each.said === 'right');
  for (const deadline = Date.now() + LIMIT_MS; !kinds.every(rightSince); await pause(50))
    if (Date.now() > deadline) throw new Error(`no recovery: ${JSON.stringify(noted.slice(-5))}`);
}

describeRedis('over own Redis servers', () => {
  const redis = async () => {
    const server = await RedisServer.start({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    const client = redisClient(server.url);
    return { server, client, stores: { artifacts: redisArtifacts({ client, prefix: ownPrefix() }) } };
  };
  testTogether('Redis with appendfsync always, under load, killed with kill -9 and started again', () =>
    killUnderLoad('Redis, kill -9', async () => {
      const { server, client, stores } = await redis();
      return {
        stores,
        kill: () => server.kill(),
        restore: () => server.restart(),
        async end() {
          client.disconnect();
          await server.stop();
        },
      };
    }),
  );
  testTogether('Redis with appendfsync always, under load, stopped, so that it takes connections and answers nothing, and let go on', () =>
    killUnderLoad('Redis, hanging', async () => {
      const { server, client, stores } = await redis();
      return {
        stores,
        kill: () => server.pause(),
        restore: async () => server.resume(),
        async end() {
          client.disconnect();
          await server.stop();
        },
      };
    }),
  );
});

describePostgres('over own PostgreSQL servers', () => {
  const postgres = async () => {
    const server = await PostgresServer.start();
    const { stores, close } = connect(server.url);
    return {
      server,
      stores: stores('idp_'),
      async end() {
        await close();
        await server.stop();
      },
    };
  };
  testTogether('a PostgreSQL server, under load, killed with kill -9 and started again', () =>
    killUnderLoad('PostgreSQL, kill -9', async () => {
      const { server, stores, end } = await postgres();
      return { stores, kill: () => server.kill(), restore: () => server.restart(), end };
    }),
  );
  testTogether('a PostgreSQL server, under load, stopped, so that it takes connections and answers nothing, and let go on', () =>
    killUnderLoad('PostgreSQL, hanging', async () => {
      const { server, stores, end } = await postgres();
      return { stores, kill: () => server.pause(), restore: async () => server.resume(), end };
    }),
  );
});

const run = promisify(execFile);
const script = new URL('../../../test/servers/mongo', import.meta.url).pathname;

withServer('MONGODB_URL', (url) => {
  const database = `idp_killed_${process.pid}`;
  const stores = (client: MongoClient) => ({
    artifacts: mongoArtifacts({ db: client.db(database) }),
    directory: mongoDirectory({ db: client.db(database) }),
  });

  testTogether('a MongoDB server, under load, out of reach, and back', () =>
    killUnderLoad('MongoDB, out of reach', async () => {
      const { hostname, port } = new URL(url);
      const proxy = await startTcpProxy({ host: hostname, port: Number(port) });
      const client = new MongoClient(url.replace(`${hostname}:${port}`, `127.0.0.1:${proxy.port}`), mongoOptions);
      return {
        stores: stores(client),
        kill: () => proxy.refuse(),
        restore: () => proxy.pass(),
        async end() {
          await client.db(database).dropDatabase();
          await client.close();
          await proxy.close();
        },
      };
    }),
  );

  (isStarted('MONGODB_URL') ? testTogether : test.skip)('a MongoDB server, under load, killed with kill -9 and started again', () =>
    killUnderLoad('MongoDB, kill -9', async () => {
      const port = `${await freePort()}`;
      const { stdout } = await run(script, ['up', port, `${process.pid}`]);
      const client = new MongoClient(stdout.trim(), mongoOptions);
      return {
        stores: stores(client),
        kill: async () => void (await run(script, ['kill', port])),
        restore: async () => void (await run(script, ['up', port])),
        async end() {
          await client.close();
          await run(script, ['down', port]);
        },
      };
    }),
  );
});
