import type { Collection, DirectoryStore, Row } from '../../lib/store/directory-store.js';
import { openedCollection } from '../../lib/store/row-contract.js';
import { createDatabase } from './database.js';
import type { PostgresOptions } from './pool.js';
import { IndexRegistry } from './rows/registry.js';
import { Rows } from './rows/rows.js';
import { directoryTables, statementsOf } from './rows/statements.js';

/**
 * Creates a directory store in PostgreSQL. Each record is one row of a table. A start makes missing tables.
 * @throws ConfigError
 * @example
 * ```ts
 * import { Pool } from 'pg';
 * import { createIdentityProvider } from 'tenant-idp';
 * import { postgresDirectory, postgresOptions } from 'tenant-idp/adapters/postgres';
 *
 * const pool = new Pool({ ...postgresOptions, connectionString: 'postgres://localhost/login' });
 * const directory = postgresDirectory({ pool, schema: 'login', prefix: 'idp_' });
 * const idp = await createIdentityProvider({ issuer: 'http://localhost:3000', directory });
 * await idp.listen(3000);
 * ```
 */
export function postgresDirectory(options: PostgresOptions): DirectoryStore {
  const { connection, names, open } = createDatabase(options);
  const sql = statementsOf(names);
  const registry = new IndexRegistry(connection, sql);
  const collections = new Map<string, Rows<Row>>();
  return {
    name: 'postgres',
    ephemeral: false,

    async open(specs) {
      await open(directoryTables);
      for (const [name, known] of await registry.open(specs)) {
        const rows = collections.get(name);
        if (rows) rows.reopened(known);
        else collections.set(name, new Rows({ name, connection, registry, sql }, known));
      }
    },

    collection<R extends Row>(name: string): Collection<R> {
      return openedCollection(collections, name) as unknown as Collection<R>;
    },

    health: () => connection.ping(),
    async close() {},
  };
}
