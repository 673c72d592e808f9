/** Clients of Redis servers, for tests. */
import { randomUUID } from 'node:crypto';
import { Cluster, Redis } from 'ioredis';
import { redisClusterOptions, redisOptions } from 'tenant-idp/adapters/redis';

/** Silences errors of connections, because some tests stop the server, and ioredis would print the errors. */
const quiet = <C extends Redis | Cluster>(client: C): C => {
  client.on('error', () => {});
  return client;
};

export const redisClient = (url: string, options: object = redisOptions): Redis => quiet(new Redis(url, options));

export const clusterClient = (urls: string, options: object = redisClusterOptions): Cluster => quiet(new Cluster(urls.split(','), options));

/** Resolves when commands can be sent. */
export const connected = async (client: Redis | Cluster): Promise<void> => {
  if (client.status !== 'ready') await new Promise<void>((resolve) => client.once('ready', resolve));
};

/** Returns a prefix for one test, because other tests use the same server. */
export const ownPrefix = (): string => `test-${randomUUID()}:`;
