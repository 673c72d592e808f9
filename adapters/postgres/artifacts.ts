import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import { artifactTable } from './artifact-row.js';
import { createCommits } from './commits.js';
import { counterTable, createCounters } from './counters.js';
import { createDatabase } from './database.js';
import { createLeases, leaseTable } from './leases.js';
import type { PostgresOptions } from './pool.js';
import { createReads } from './reads.js';
import { Sweep } from './sweep.js';

/**
 * Creates an artifact store in PostgreSQL 15 or later. Each call is one statement. The store uses the time of the server.
 * @throws ConfigError
 * @example
 * ```ts
 * import pg from 'pg';
 * import { createIdentityProvider } from 'tenant-idp';
 * import { postgresArtifacts, postgresOptions } from 'tenant-idp/adapters/postgres';
 *
 * const pool = new pg.Pool({ ...postgresOptions, connectionString: 'postgres://localhost/login' });
 * const artifacts = postgresArtifacts({ pool, prefix: 'idp_' });
 * const idp = await createIdentityProvider({ issuer: 'http://localhost:3000', artifacts });
 * await idp.listen(3000);
 * ```
 */
export function postgresArtifacts(options: PostgresOptions): ArtifactStore {
  const database = createDatabase(options);
  const { connection } = database;
  const sweep = new Sweep(database);
  return {
    name: 'postgres',
    ephemeral: false,

    async open() {
      await database.open([artifactTable, counterTable, leaseTable]);
      sweep.start();
    },

    ...createReads(database),
    ...createCommits(database),
    ...createCounters(database),
    ...createLeases(database),
    time: () => connection.time(),
    health: () => connection.ping(),

    async close() {
      sweep.stop();
    },
  };
}
