/** Issue 44: the directory in PostgreSQL: the contract. */
import { testDirectoryStore } from 'tenant-idp/adapters/conformance';
import { postgresDirectory } from 'tenant-idp/adapters/postgres';
import { withPostgres } from '../../support/stores/postgres.js';

withPostgres('POSTGRES_URL', (postgres) => {
  let prefix = '';
  const peer = postgres.connect();
  testDirectoryStore(
    'postgres',
    async () => {
      prefix = postgres.prefix();
      return postgresDirectory({ pool: postgres.pool, prefix });
    },
    { peer: async () => postgresDirectory({ pool: peer, prefix }) },
  );
});
