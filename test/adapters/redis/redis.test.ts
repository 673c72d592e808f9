/** Issue 5.1: the store on real servers, held to the contract. */
import { afterAll, describe } from '@jest/globals';
import type { Cluster, Redis } from 'ioredis';
import { type Skip, testArtifactStore } from 'tenant-idp/adapters/conformance';
import { redisArtifacts } from 'tenant-idp/adapters/redis';
import { withServer } from '../../servers/when.js';
import { clusterClient, ownPrefix, redisClient } from '../../support/stores/redis-clients.js';

function testOver(title: string, connect: () => Redis | Cluster, skip: readonly Skip[] = []): void {
  const [client, other] = [connect(), connect()];
  afterAll(() => {
    client.disconnect();
    other.disconnect();
  });
  let prefix = '';
  const make = async () => {
    prefix = ownPrefix();
    return redisArtifacts({ client, prefix });
  };
  testArtifactStore(title, make, { peer: async () => redisArtifacts({ client: other, prefix }), skip });
}

describe('a single Redis', () => {
  withServer('REDIS_URL', (url) => testOver('redis', () => redisClient(url)));
});

describe('a Redis Cluster', () => {
  withServer('REDIS_CLUSTER_URLS', (urls) =>
    testOver('redis cluster', () => clusterClient(urls), [
      {
        case: 'conditions: writes to several slots are all done or none',
        reason: 'a Redis Cluster has no transaction over slots: slots are committed one after the other, those with conditions first',
      },
    ]),
  );
});
