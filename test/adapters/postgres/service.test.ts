/** Issue 44: the whole service over a PostgreSQL that starts late, takes no writes, or is killed and restarted. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { postgresArtifacts, postgresDirectory, postgresOptions } from 'tenant-idp/adapters/postgres';
import { describePostgres } from '../../servers/installed.js';
import { startIdp } from '../../support/service/idp.js';
import { statement } from '../../support/stores/places.js';
import { PostgresServer } from '../../support/stores/postgres-server.js';
import { until } from '../../support/time/until.js';

describePostgres('over own PostgreSQL servers', () => {
  const ends: (() => unknown)[] = [];
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });

  test('C: a PostgreSQL that comes up after 3 s is waited for; while it takes no writes it is read-only; after a crash it is up again', async () => {
    const server = await PostgresServer.start();
    ends.push(() => server.stop());
    await server.kill();
    // The pool has no listener for errors, and an outage does not end the process.
    const pool = new pg.Pool({ ...postgresOptions, connectionString: server.url });
    ends.push(() => pool.end());
    const starting = startIdp({ artifacts: postgresArtifacts({ pool }), directory: postgresDirectory({ pool }) });
    starting.catch(() => {});
    await pause(3000);
    await server.restart();
    const service = await starting;
    ends.push(() => service.close());
    const health = async (expected: { readonly status: string; readonly artifacts: string; readonly directory: string }) => {
      const { status, artifacts, directory } = await until(
        () => service.idp.health(),
        (found) => found.status === expected.status && found.artifacts === expected.artifacts && found.directory === expected.directory,
      );
      expect({ status, artifacts, directory }).toEqual(expected);
    };
    await health({ status: 'up', artifacts: 'up', directory: 'up' });

    const readOnly = async (value: 'on' | 'off') => {
      await statement(server.url, `alter system set default_transaction_read_only = ${value}`);
      await statement(server.url, 'select pg_reload_conf()');
    };
    await readOnly('on');
    await health({ status: 'down', artifacts: 'read-only', directory: 'read-only' });
    await readOnly('off');
    await health({ status: 'up', artifacts: 'up', directory: 'up' });

    await server.kill();
    await health({ status: 'down', artifacts: 'down', directory: 'down' });
    await server.restart();
    await health({ status: 'up', artifacts: 'up', directory: 'up' });
  });
});
