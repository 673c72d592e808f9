/** Both stores of several nodes on one server, MongoDB or PostgreSQL, for tests and for the processes that the tests start. */
import { MongoClient } from 'mongodb';
import pg from 'pg';
import type { ArtifactStore, DirectoryStore } from 'tenant-idp';
import { mongoArtifacts, mongoDirectory, mongoOptions } from 'tenant-idp/adapters/mongo';
import { postgresArtifacts, postgresDirectory, postgresOptions } from 'tenant-idp/adapters/postgres';

/** Location of the records of one service. A process that a test starts gets the location as JSON. */
export interface Place {
  /** URL of the server, with the name of the database. */
  readonly url: string;
  readonly prefix: string;
}

export interface Stores {
  readonly artifacts: ArtifactStore;
  readonly directory: DirectoryStore;
}

export interface Connected {
  stores(prefix: string): Stores;
  close(): Promise<void>;
}

/**
 * Number of connections. MongoDB connections are made before many calls need them at the same time, because machines that run tests make
 * them slowly.
 */
const POOL = 8;

/** Connects to a server by the scheme of its URL. */
export function connect(url: string): Connected {
  if (url.startsWith('mongodb')) {
    const client = new MongoClient(url, { ...mongoOptions, minPoolSize: POOL, maxPoolSize: POOL, maxConnecting: POOL });
    const db = client.db();
    return {
      stores: (prefix) => ({ artifacts: mongoArtifacts({ db, prefix }), directory: mongoDirectory({ db, prefix }) }),
      close: () => client.close(),
    };
  }
  const pool = new pg.Pool({ connectionString: url, ...postgresOptions, max: POOL });
  pool.on('error', () => {});
  return {
    stores: (prefix) => ({ artifacts: postgresArtifacts({ pool, prefix }), directory: postgresDirectory({ pool, prefix }) }),
    close: () => pool.end(),
  };
}

/** Returns the stores of a process that ends without removing its records. */
export const storesAt = ({ url, prefix }: Place): Stores => connect(url).stores(prefix);

/** Returns the URL of a database of the server. */
export const databaseUrl = (server: string, name: string): string => Object.assign(new URL(server), { pathname: `/${name}` }).href;

/** Makes a database. In MongoDB, the first collection makes the database. */
export async function makeDatabase(server: string, name: string): Promise<void> {
  if (server.startsWith('postgres')) await statement(server, `create database "${name}"`);
}

/** Drops a database with all its records. */
export async function dropDatabase(server: string, name: string): Promise<void> {
  if (server.startsWith('postgres')) {
    await statement(server, `drop database "${name}" with (force)`);
    return;
  }
  const client = new MongoClient(databaseUrl(server, name));
  await client.db().dropDatabase();
  await client.close();
}

/** Runs one statement over a separate connection. */
export async function statement(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
