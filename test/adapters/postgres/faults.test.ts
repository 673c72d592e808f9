/** Issue 44: a PostgreSQL that is paused, killed and restarted, or has no connection left. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { postgresArtifacts, postgresOptions } from 'tenant-idp/adapters/postgres';
import { hashedKey } from '../../../lib/store/artifact-key.js';
import type { ArtifactKey, ArtifactStore, ArtifactWrite } from '../../../lib/store/artifact-store.js';
import { describePostgres } from '../../servers/installed.js';
import { PostgresServer } from '../../support/stores/postgres-server.js';
import { IN_TIME } from '../../support/time/in-time.js';
import { until } from '../../support/time/until.js';

const KILLS = process.env.PROVE ? 20 : 2;
/** Connections that a role may have, in addition to those for superusers. */
const CONNECTIONS = 12;

const later = () => Date.now() + 600_000;
const put = (key: ArtifactKey, value = 'value'): ArtifactWrite => ({ op: 'put', key, value, expiresAt: later() });
const spend = (key: ArtifactKey): ArtifactWrite => ({
  op: 'put',
  key,
  value: 'spent',
  expiresAt: later(),
  if: 'unconsumed',
  consumedAt: 1,
});

/** Outcome of one use of a code: the use bought its token, lost to another use, or has an unknown outcome. */
type Outcome = 'bought' | 'lost' | 'refused';

describePostgres('over own PostgreSQL servers', () => {
  let server: PostgresServer;
  const pools: pg.Pool[] = [];
  let store: ArtifactStore;

  const connect = (max: number): pg.Pool => {
    const pool = new pg.Pool({ ...postgresOptions, connectionString: server.url.replace('postgres@', 'service@'), max });
    pool.on('error', () => {});
    pools.push(pool);
    return pool;
  };
  beforeAll(async () => {
    server = await PostgresServer.start({ max_connections: `${CONNECTIONS + 3}` });
    const admin = new pg.Client({ connectionString: server.url });
    await admin.connect();
    await admin.query('create role service login');
    await admin.query('grant create on schema public to service');
    await admin.end();
    store = postgresArtifacts({ pool: connect(6) });
    await store.open();
  });
  afterAll(async () => {
    server.resume();
    await store.close();
    await Promise.all(pools.map((pool) => pool.end()));
    await server.stop();
  });

  let names = 0;
  const newKeys = (count: number): ArtifactKey[] =>
    Array.from({ length: count }, () => {
      names += 1;
      return hashedKey('Fault', `${names}`);
    });
  const tokenOf = (code: ArtifactKey, use: string) => hashedKey('Token', `${code} ${use}`);
  const use = async (code: ArtifactKey, name: string): Promise<Outcome> => {
    const began = performance.now();
    try {
      const { ok } = await store.commit([put(tokenOf(code, name), name), spend(code)]);
      return ok ? 'bought' : 'lost';
    } catch {
      expect(performance.now() - began).toBeLessThan(IN_TIME);
      return 'refused';
    }
  };
  const isBack = () =>
    until(() =>
      store.health().then(
        () => true,
        () => false,
      ),
    );

  /** Uses each code twice concurrently and once more at the end, while `happen` affects the server. */
  const purchases = async (happen: () => Promise<void>): Promise<void> => {
    const codes = newKeys(60);
    for (let index = 0; index < codes.length; index += 20) await store.commit(codes.slice(index, index + 20).map((code) => put(code)));
    const outcomes = new Map<ArtifactKey, Outcome[]>(codes.map((code) => [code, []]));
    let isOver = false;
    const happening = happen().finally(() => {
      isOver = true;
    });
    const worker = async (own: readonly ArtifactKey[]) => {
      for (const code of own) {
        outcomes.get(code)!.push(...(await Promise.all([use(code, 'first'), use(code, 'second')])));
        if (!isOver) await sleep(20);
      }
    };
    await Promise.all([0, 1, 2].map((part) => worker(codes.filter((_, index) => index % 3 === part))));
    await happening;
    await isBack();
    for (const code of codes) {
      const before = outcomes.get(code)!;
      const last = await use(code, 'last');
      expect(last).not.toBe('refused');
      const bought = [...before, last].filter((outcome) => outcome === 'bought').length;
      // The outcome of a refused use is unknown. If the refused use bought a token, no other use did.
      expect(bought).toBeLessThanOrEqual(1);
      if (!before.includes('refused')) expect(bought).toBe(1);
      const tokens = await store.read(['first', 'second', 'last'].map((name) => ({ key: tokenOf(code, name) })));
      expect(tokens.size).toBe(1);
      const acknowledged = ['first', 'second'].filter((_, index) => before[index] === 'bought');
      for (const name of acknowledged) expect(tokens.has(tokenOf(code, name))).toBe(true);
    }
  };

  test('J1: a paused server: calls are refused in time, no code buys two tokens, and all works again', async () => {
    await purchases(async () => {
      await sleep(100);
      server.pause();
      await sleep(1500);
      server.resume();
    });
  });

  test('J1, J2: a server that is killed under load and restarts loses nothing that it acknowledged, and no code buys two tokens', async () => {
    for (let round = 0; round < KILLS; round += 1) {
      await purchases(async () => {
        await sleep(100);
        await server.kill();
        await sleep(200);
        await server.restart();
      });
    }
  });

  test('a server without a free connection refuses in time, serves the connections that it has, and is well afterwards', async () => {
    await isBack();
    const taken: pg.PoolClient[] = [];
    const greedy = connect(CONNECTIONS);
    const late = postgresArtifacts({ pool: connect(2) });
    for (let left = true; left; ) {
      try {
        taken.push(await greedy.connect());
      } catch (error) {
        expect(error).toMatchObject({ code: '53300' });
        left = false;
      }
    }
    const [key] = newKeys(1) as [ArtifactKey];
    const began = performance.now();
    await expect(late.commit([put(key)])).rejects.toMatchObject({ code: '53300' });
    expect(performance.now() - began).toBeLessThan(IN_TIME);
    // This store has connections already.
    expect(await store.commit([put(key)])).toEqual({ ok: true });
    for (const client of taken) client.release(true);
    await until(() =>
      late.commit([put(key)]).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
  });
});
