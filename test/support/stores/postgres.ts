import { afterAll, beforeAll } from '@jest/globals';
import pg from 'pg';
import { withServer } from '../../servers/when.js';
import { databaseUrl, dropDatabase, makeDatabase } from './places.js';

/** Database for one test file, which is dropped at the end of the file. Each store in the database has its own prefix. */
export interface TestPostgres {
  /** URL of the database. */
  readonly url: string;
  /** One pool for the whole file. */
  readonly pool: pg.Pool;
  /** Returns another pool, as another node would have. `at` replaces the server's `host:port`. */
  connect(options?: pg.PoolConfig, at?: string): pg.Pool;
  /** Returns a prefix that no store uses yet. */
  prefix(): string;
}

/** Registers a suite over a PostgreSQL server; see `withServer`. */
export const withPostgres = (variable: 'POSTGRES_URL', suite: (postgres: TestPostgres) => void): void =>
  withServer(variable, (url) => suite(postgresAt(url)));

/** Makes a database before the suite. After the suite, ends the pools, and drops the database. */
function postgresAt(server: string): TestPostgres {
  const database = `idp_test_${process.pid}_${Date.now().toString(36)}`;
  const url = databaseUrl(server, database);
  const pools: pg.Pool[] = [];
  const connect = (options: pg.PoolConfig = {}, at = new URL(url).host): pg.Pool => {
    const pool = new pg.Pool({ connectionString: url.replace(new URL(url).host, at), max: 8, ...options });
    // Some tests stop the server, so errors of idle connections are expected.
    pool.on('error', () => {});
    pools.push(pool);
    return pool;
  };
  beforeAll(() => makeDatabase(server, database));
  afterAll(async () => {
    await Promise.all(pools.map((one) => one.ended || one.end()));
    await dropDatabase(server, database);
  });
  let prefixes = 0;
  return {
    url,
    pool: connect(),
    connect,
    prefix() {
      prefixes += 1;
      return `p${prefixes}_`;
    },
  };
}
