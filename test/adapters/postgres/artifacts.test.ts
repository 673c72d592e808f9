/** The artifact store in PostgreSQL, held to the contract. */
import { describe } from '@jest/globals';
import type { Pool } from 'pg';
import { testArtifactStore } from 'tenant-idp/adapters/conformance';
import { postgresArtifacts } from 'tenant-idp/adapters/postgres';
import { withPostgres } from '../../support/stores/postgres.js';

withPostgres('POSTGRES_URL', (postgres) => {
  let prefix = '';
  let other: Pool | undefined;
  const own = () => {
    prefix = postgres.prefix();
    return { pool: postgres.pool, prefix };
  };
  const peer = () => {
    other ??= postgres.connect();
    return { pool: other, prefix };
  };

  describe('one server', () => {
    testArtifactStore('postgres', async () => postgresArtifacts(own()), { peer: async () => postgresArtifacts(peer()) });
  });
});
