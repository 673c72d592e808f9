/** Clients of the Redis servers that the environment names, for tests. */
import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { redisClusterOptions, redisOptions } from 'tenant-idp/adapters/redis';

/** Calls `register` with what the environment says; without it there is one test, skipped, which fails where nothing may be skipped. */
export function withServer(variable: 'REDIS_URL' | 'REDIS_CLUSTER_URLS', register: (urls: string) => void): void {
  const urls = process.env[variable];
  const name = `NOT RUN: ${variable} is not set, so nothing here was tried on a real server`;
  if (urls) register(urls);
  else if (process.env.CI) test(name, () => expect(urls).toBeDefined());
  else test.skip(name, () => {});
}

/** A server that goes away is what some tests are about; ioredis would print it. */
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

/** A name space of a test's own on a server that others use too. */
export const ownPrefix = (): string => `test-${randomUUID()}:`;
