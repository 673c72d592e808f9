import { afterAll, beforeAll } from '@jest/globals';
import pg from 'pg';
import { withServer } from '../../servers/when.js';

/** A database for one test file, dropped at its end. Its stores are told apart by prefix. */
export interface TestPostgres {
  /** URL of the database. */
  readonly url: string;
  /** One pool for the whole file. */
  readonly pool: pg.Pool;
  /** Another pool, as another node would have one. `at` replaces the server's `host:port`. */
  connect(options?: pg.PoolConfig, at?: string): pg.Pool;
  /** One that no store has yet. */
  prefix(): string;
}

/** Registers a suite over a PostgreSQL server; see `withServer`. */
export const withPostgres = (variable: 'POSTGRES_URL', suite: (postgres: TestPostgres) => void): void =>
  withServer(variable, (url) => suite(postgresAt(url)));

/** Makes a database at the start of the suite, and drops it at its end, after the pools. */
function postgresAt(server: string): TestPostgres {
  const database = `idp_test_${process.pid}_${Date.now().toString(36)}`;
  const url = new URL(server);
  url.pathname = `/${database}`;
  const pools: pg.Pool[] = [];
  const connect = (options: pg.PoolConfig = {}, at = url.host): pg.Pool => {
    const pool = new pg.Pool({ connectionString: url.href.replace(url.host, at), max: 8, ...options });
    // A server that goes away is what some tests are about.
    pool.on('error', () => {});
    pools.push(pool);
    return pool;
  };
  beforeAll(() => statement(server, `create database ${database}`));
  afterAll(async () => {
    await Promise.all(pools.map((one) => one.ended || one.end()));
    await statement(server, `drop database ${database} with (force)`);
  });
  let prefixes = 0;
  return {
    url: url.href,
    pool: connect(),
    connect,
    prefix() {
      prefixes += 1;
      return `p${prefixes}_`;
    },
  };
}

/** Runs one statement by a connection of its own. */
export async function statement(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
