import { Connection } from './connection.js';
import { checkOptions, type PostgresOptions } from './pool.js';
import { checkServer } from './server-checks.js';
import { makeTables, type Table, TableNames } from './tables.js';

/** Connection of a store, with the names of the store's tables. */
export interface Database {
  readonly connection: Connection;
  readonly names: TableNames;
  /**
   * Checks the server and makes missing tables. Several nodes may open a store concurrently.
   * @throws IdpError `store_unfit`; Error if the server cannot be reached.
   */
  open(tables: readonly Table[]): Promise<void>;
}

/** Creates the connection of a store. @throws ConfigError */
export function createDatabase(options: PostgresOptions): Database {
  checkOptions(options);
  const connection = new Connection(options.pool);
  const names = new TableNames(options);
  return {
    connection,
    names,
    async open(tables) {
      await checkServer(connection);
      await makeTables(connection, names, tables);
    },
  };
}
