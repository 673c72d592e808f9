/** Issue 5.1: the store on real servers, held to the contract. */
import { afterAll, describe } from '@jest/globals';
import { testArtifactStore } from 'tenant-idp/adapters/conformance';
import { redisArtifacts } from 'tenant-idp/adapters/redis';
import { withServer } from '../servers/when.js';
import { clusterClient, ownPrefix, redisClient } from '../support/redis-clients.js';

describe('issue 5.1: a single Redis', () => {
  withServer('REDIS_URL', (url) => {
    const [client, other] = [redisClient(url), redisClient(url)];
    afterAll(() => {
      client.disconnect();
      other.disconnect();
    });
    let prefix = '';
    const make = async () => {
      prefix = ownPrefix();
      return redisArtifacts({ client, prefix });
    };
    testArtifactStore('redis', make, { peer: async () => redisArtifacts({ client: other, prefix }) });
  });
});

describe('issue 5.1: a Redis Cluster', () => {
  withServer('REDIS_CLUSTER_URLS', (urls) => {
    const [client, other] = [clusterClient(urls), clusterClient(urls)];
    afterAll(() => {
      client.disconnect();
      other.disconnect();
    });
    let prefix = '';
    const make = async () => {
      prefix = ownPrefix();
      return redisArtifacts({ client, prefix });
    };
    testArtifactStore('redis cluster', make, {
      peer: async () => redisArtifacts({ client: other, prefix }),
      skip: [
        {
          case: 'conditions: writes to several slots are all done or none',
          reason: 'a Redis Cluster has no transaction over slots: slots are committed one after the other, those with conditions first',
        },
      ],
    });
  });
});
