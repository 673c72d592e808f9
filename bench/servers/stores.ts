/** Stores of this library, by URL. */
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import pg from 'pg';
import { mongoDirectory, mongoOptions } from '../../adapters/mongo/index.js';
import { postgresArtifacts, postgresDirectory, postgresOptions } from '../../adapters/postgres/index.js';
import { redisArtifacts, redisOptions } from '../../adapters/redis/index.js';
import { sqliteArtifacts, sqliteDirectory } from '../../adapters/sqlite/index.js';
import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import type { DirectoryStore } from '../../lib/store/directory-store.js';

export interface StoreUrls {
  readonly artifacts: string;
  /** URL of the directory. If the URL is absent, the directory is in memory. */
  readonly directory?: string;
}

interface Stores {
  readonly artifacts: ArtifactStore;
  readonly directory?: DirectoryStore;
}

export const openStores = ({ artifacts, directory }: StoreUrls): Stores => ({
  artifacts: artifactsAt(artifacts).store,
  ...(directory !== undefined && { directory: directoryAt(directory) }),
});

/** Returns the store of a URL, and a function that closes the connections of the store after the store was closed. */
export function artifactsAt(url: string): { readonly store: ArtifactStore; close(): Promise<unknown> } {
  if (url.startsWith('postgres:')) {
    const pool = poolOf(url);
    return { store: postgresArtifacts({ pool }), close: () => pool.end() };
  }
  if (url.startsWith('file:')) return { store: sqliteArtifacts({ file: url.slice('file:'.length) }), close: async () => {} };
  const client = new Redis(url, redisOptions);
  return { store: redisArtifacts({ client }), close: async () => client.disconnect() };
}

export function directoryAt(url: string): DirectoryStore {
  if (url.startsWith('postgres:')) return postgresDirectory({ pool: poolOf(url) });
  if (url.startsWith('file:')) return sqliteDirectory({ file: url.slice('file:'.length) });
  return mongoDirectory({ db: new MongoClient(url, mongoOptions).db() });
}

const pools = new Map<string, pg.Pool>();

/** Returns one pool for both stores of a database, as in a host. */
function poolOf(url: string): pg.Pool {
  const pool = pools.get(url) ?? new pg.Pool({ connectionString: url, ...postgresOptions, max: 16 });
  pools.set(url, pool);
  return pool;
}
