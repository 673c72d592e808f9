/** Stores that the URLs in the settings name. Each driver is loaded only if it is used. */
import type { Cluster, Redis } from 'ioredis';
import type { ArtifactStore, DirectoryStore } from 'tenant-idp/store';
import type { Settings } from './settings.js';

export interface Stores {
  readonly artifacts: ArtifactStore;
  readonly directory: DirectoryStore;
  /** Closes the connections, after the service has closed its stores. */
  close(): Promise<void>;
}

/** Opens the database. If the settings name Redis, opens Redis for the artifacts. */
export async function openStores(settings: Settings): Promise<Stores> {
  const database = await openDatabase(settings.database);
  if (settings.redis === undefined) return database;
  const { redisArtifacts } = await import('tenant-idp/adapters/redis');
  const client = await openRedis(settings.redis);
  return {
    artifacts: redisArtifacts({ client, prefix: settings.redisPrefix }),
    directory: database.directory,
    async close() {
      client.disconnect();
      await database.close();
    },
  };
}

export const openDatabase = ({ kind, location }: Settings['database']): Promise<Stores> => openers[kind](location);

const openers = { postgres: openPostgres, mongodb: openMongo, file: openFile } as const;

async function openPostgres(url: string): Promise<Stores> {
  const { Pool } = (await import('pg')).default;
  const { postgresArtifacts, postgresDirectory, postgresOptions } = await import('tenant-idp/adapters/postgres');
  const pool = new Pool({ connectionString: url, ...postgresOptions });
  pool.on('error', onceEach('PostgreSQL'));
  return { artifacts: postgresArtifacts({ pool }), directory: postgresDirectory({ pool }), close: () => pool.end() };
}

async function openMongo(url: string): Promise<Stores> {
  const { MongoClient } = await import('mongodb');
  const { mongoArtifacts, mongoDirectory, mongoOptions } = await import('tenant-idp/adapters/mongo');
  const client = new MongoClient(url, mongoOptions);
  const db = client.db();
  return { artifacts: mongoArtifacts({ db }), directory: mongoDirectory({ db }), close: () => client.close() };
}

async function openFile(file: string): Promise<Stores> {
  const { sqliteArtifacts, sqliteDirectory } = await import('tenant-idp/adapters/sqlite');
  return { artifacts: sqliteArtifacts({ file }), directory: sqliteDirectory({ file }), close: async () => {} };
}

async function openRedis(redis: NonNullable<Settings['redis']>): Promise<Redis | Cluster> {
  const { Cluster, Redis } = await import('ioredis');
  const { redisClusterOptions, redisOptions } = await import('tenant-idp/adapters/redis');
  const client = 'url' in redis ? new Redis(redis.url, redisOptions) : new Cluster([...redis.clusterUrls], redisClusterOptions);
  client.on('error', onceEach('Redis'));
  return client;
}

/** Returns a listener that logs an error only if the message differs from the last message. Each attempt to reconnect fails with the same message. */
function onceEach(server: string): (error: Error) => void {
  let logged = '';
  return ({ message }) => {
    if (message !== logged) console.warn(`${server}: ${message}`);
    logged = message;
  };
}
