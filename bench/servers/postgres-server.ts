import { databaseUrl, statement } from '../../test/support/stores/places.js';
import { PostgresServer } from '../../test/support/stores/postgres-server.js';

export interface BenchPostgres {
  /** Makes a database. @returns the URL of the database */
  database(name: string): Promise<string>;
  /** Runs one statement in a database, over a separate connection. */
  query(database: string, text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  stop(): Promise<void>;
}

/** Starts a PostgreSQL server that ends with the bench. The server writes to the disk as in production. */
export async function startPostgresServer(): Promise<BenchPostgres> {
  const server = await PostgresServer.start();
  process.once('exit', () => void server.kill());
  const query = (database: string, text: string) => statement(databaseUrl(server.url, database), text);
  return {
    async database(name) {
      await query('postgres', `create database ${name}`);
      return databaseUrl(server.url, name);
    },
    query,
    stop: () => server.stop(),
  };
}
