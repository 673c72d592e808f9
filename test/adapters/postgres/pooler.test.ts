/** Issue 44: both stores behind a pooler that gives each transaction to another connection of the server. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { testArtifactStore, testDirectoryStore } from 'tenant-idp/adapters/conformance';
import { postgresArtifacts, postgresDirectory, postgresOptions } from 'tenant-idp/adapters/postgres';
import { describeInstalled } from '../../servers/installed.js';
import { PGBOUNCER, type PgBouncer, startPgBouncer } from '../../support/stores/pgbouncer.js';
import { withPostgres } from '../../support/stores/postgres.js';
import { until } from '../../support/time/until.js';

/** Connections of the pooler: fewer than the clients have, so that sessions of the server change from statement to statement. */
const CONNECTIONS = 3;

withPostgres('POSTGRES_URL', (postgres) =>
  describeInstalled('PgBouncer in transaction mode', { pgbouncer: PGBOUNCER }, () => {
    let bouncer: PgBouncer;
    let pools: readonly [pg.Pool, pg.Pool];
    beforeAll(async () => {
      bouncer = await startPgBouncer(postgres.url, CONNECTIONS);
      const connect = () => new pg.Pool({ ...postgresOptions, connectionString: bouncer.url, max: 8 });
      pools = [connect(), connect()];
    });
    afterAll(async () => {
      await Promise.all(pools.map((pool) => pool.end()));
      await bouncer.stop();
    });

    let prefix = '';
    const own = () => {
      prefix = postgres.prefix();
      return { pool: pools[0], prefix };
    };
    const peer = () => ({ pool: pools[1], prefix });
    testArtifactStore('postgres behind a pooler', async () => postgresArtifacts(own()), { peer: async () => postgresArtifacts(peer()) });
    testDirectoryStore('postgres behind a pooler', async () => postgresDirectory(own()), { peer: async () => postgresDirectory(peer()) });

    test('clients have more connections than the server, and leave nothing behind in those of the server', async () => {
      const stores = pools.map((pool) => postgresArtifacts({ pool, prefix }));
      await Promise.all(stores.map((store) => store.open()));
      await Promise.all(Array.from({ length: 40 }, (_, index) => stores[index % 2]!.lease('one', 'me', 1000)));
      expect(pools[0].totalCount + pools[1].totalCount).toBeGreaterThan(CONNECTIONS);
      const sessions = Array.from({ length: 12 }, async () => {
        const state = "select current_setting('lock_timeout') as timeout, (select count(*) from pg_prepared_statements) as statements";
        return (await pools[0].query<{ timeout: string; statements: string }>(state)).rows[0];
      });
      for (const session of await Promise.all(sessions)) expect(session).toEqual({ timeout: '0', statements: '0' });
      // Other tests lock the same server while they make their tables. A lock that a session leaves behind stays.
      const locks = async () => (await postgres.pool.query("select 1 from pg_locks where locktype = 'advisory'")).rowCount;
      expect(await until(locks, (count) => count === 0)).toBe(0);
    });
  }),
);
