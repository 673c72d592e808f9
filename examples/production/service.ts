/** The identity provider of one process, over Redis and MongoDB. */
import { Cluster, Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { createIdentityProvider, type IdentityProvider } from 'tenant-idp';
import { mongoDirectory, mongoOptions } from 'tenant-idp/adapters/mongo';
import { redisArtifacts, redisClusterOptions, redisOptions } from 'tenant-idp/adapters/redis';
import { createSeed } from './seed.js';
import type { Settings } from './settings.js';

export interface Service {
  readonly idp: IdentityProvider;
  /** Closes the service. Call `close` after all requests were answered. */
  close(): Promise<void>;
}

export async function openService(settings: Settings): Promise<Service> {
  const redis = openRedis(settings);
  const mongo = new MongoClient(settings.mongoUrl, mongoOptions);
  const closeClients = () => {
    redis.disconnect();
    return mongo.close();
  };
  try {
    const idp = await createIdentityProvider({
      issuer: settings.issuer,
      artifacts: redisArtifacts({ client: redis, prefix: settings.redisPrefix }),
      directory: mongoDirectory({ db: mongo.db() }),
      seed: createSeed(settings),
      keys: { encryption: settings.encryptionKeys },
      cookies: { keys: settings.cookieKeys },
      subjectSalt: settings.subjectSalt,
      trustProxy: settings.proxies,
    });
    return {
      idp,
      async close() {
        await idp.close();
        await closeClients();
      },
    };
  } catch (error) {
    await closeClients();
    throw error;
  }
}

function openRedis({ redis }: Settings): Redis | Cluster {
  const client = 'url' in redis ? new Redis(redis.url, redisOptions) : new Cluster([...redis.clusterUrls], redisClusterOptions);
  // Logs the failure once, because each attempt to reconnect fails in the same way.
  let said = '';
  client.on('ready', () => {
    said = '';
  });
  client.on('error', ({ message }: Error) => {
    if (message !== said) console.warn(`Redis: ${message}`);
    said = message;
  });
  return client;
}
