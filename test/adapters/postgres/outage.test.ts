/** Issue 44: calls while PostgreSQL cannot be reached, and afterwards. */
import { postgresArtifacts, postgresDirectory, postgresOptions } from 'tenant-idp/adapters/postgres';
import { withPostgres } from '../../support/stores/postgres.js';
import { testOutage } from '../outage.js';

withPostgres('POSTGRES_URL', (postgres) => {
  const prefix = postgres.prefix();
  const tables = ['artifacts', 'counters', 'leases', 'rows', 'entries'];
  testOutage({
    server: 'PostgreSQL',
    url: postgres.url,
    connect(at) {
      const pool = postgres.connect(postgresOptions, at);
      return { artifacts: postgresArtifacts({ pool, prefix }), directory: postgresDirectory({ pool, prefix }) };
    },
    everything: () =>
      Promise.all(
        tables.map(
          async (name) => (await postgres.pool.query<{ row: string }>(`select t::text as row from ${prefix}${name} t order by 1`)).rows,
        ),
      ),
    hasWholeCommits: true,
  });
});
