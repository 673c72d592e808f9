/** Issue 5.1: the store on real servers, held to the contract. */
import { afterAll, describe } from '@jest/globals';
import { testArtifactStore } from 'tenant-idp/adapters/conformance';
import { redisArtifacts } from 'tenant-idp/adapters/redis';
import { withServer } from '../servers/when.js';
import { clusterClient, ownPrefix, redisClient } from '../support/redis-clients.js';

describe('issue 5.1: a single Redis', () => {
  withServer('REDIS_URL', (url) => {
    const client = redisClient(url);
    afterAll(() => client.disconnect());
    testArtifactStore('redis', async () => redisArtifacts({ client, prefix: ownPrefix() }));
  });
});

describe('issue 5.1: a Redis Cluster', () => {
  withServer('REDIS_CLUSTER_URLS', (urls) => {
    const client = clusterClient(urls);
    afterAll(() => client.disconnect());
    testArtifactStore('redis cluster', async () => redisArtifacts({ client, prefix: ownPrefix() }), {
      skip: [
        {
          case: 'conditions: writes to several slots are all done or none',
          reason: 'a Redis Cluster has no transaction over slots: slots are committed one after the other, those with conditions first',
        },
      ],
    });
  });
});
