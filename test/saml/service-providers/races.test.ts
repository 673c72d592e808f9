/**
 * Issue 17, 2: concurrent writes of service providers. On two nodes, an owner gets one service provider for an entityID, and of changes to the same state
 * one succeeds.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { mongoDirectory } from 'tenant-idp/adapters/mongo';
import { redisArtifacts } from 'tenant-idp/adapters/redis';
import { saml } from 'tenant-idp/extensions/saml';
import { withServer } from '../../servers/when.js';
import { type AdminClient, tenantIds } from '../../support/administration/admin.js';
import type { Json } from '../../support/client/agent.js';
import { asAdministrator, samlOptions, useSaml } from '../../support/saml/service/administration.js';
import { type Instances, startInstances } from '../../support/service/instances.js';
import { jitteryDirectory, seededRandom } from '../../support/stores/jittery-directory.js';
import { withMongo } from '../../support/stores/mongo.js';
import { redisClient } from '../../support/stores/redis-clients.js';

const ROUNDS = process.env.PROVE ? 20 : 1;
const AT_ONCE = 50;

type Stores = Parameters<typeof startInstances>[1];

function suite(open: () => { readonly stores: Stores; readonly close?: () => unknown }): void {
  let nodes: Instances;
  let clients: readonly AdminClient[];
  let tid: string;
  let opened: ReturnType<typeof open>;
  beforeAll(async () => {
    opened = open();
    nodes = await startInstances(2, opened.stores, { ...samlOptions, extensions: [saml()] });
    clients = await Promise.all([0, 1].map(async (node) => asAdministrator(nodes.at(node), 'root')));
    tid = (await tenantIds(clients[0] as AdminClient)).Acme ?? '';
  });
  afterAll(async () => {
    await nodes?.close();
    await opened?.close?.();
  });

  test(`${AT_ONCE} at once of the instance, and as many of a tenant: one each is registered`, async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const entityId = `https://raced${round}.example`;
      const paths = ['/saml-service-providers', `/tenants/${tid}/saml-service-providers`];
      const tries = Array.from({ length: 2 * AT_ONCE }, (_, index) => ({
        path: paths[(index >> 1) % 2] as string,
        client: clients[index % 2],
      }));
      const answers = await Promise.all(
        tries.map(async ({ path, client }, index) => {
          const acs = [{ url: `https://sp.example/acs/${index}` }];
          for (let isTriedAgain = false; ; isTriedAgain = true) {
            const answer = await client?.post(path, { entityId, assertionConsumerServices: acs });
            if (answer?.status !== 503) return { path, answer, isTriedAgain };
          }
        }),
      );
      for (const path of paths) {
        const own = answers.filter((one) => one.path === path);
        const won = own.filter(({ answer }) => answer?.status === 201);
        expect(own.filter(({ answer }) => answer?.status === 409)).toHaveLength(AT_ONCE - won.length);
        const { json } = (await clients[1]?.(`${path}?limit=200`)) ?? {};
        const kept = json.items.filter((item: Json) => item.entityId === entityId);
        expect(kept).toHaveLength(1);
        // A store that answers too late may have written the row. A retry finds this row.
        if (won.length > 0 || !own.some(({ isTriedAgain }) => isTriedAgain)) expect(kept).toEqual(won.map(({ answer }) => answer?.json));
      }
    }
  });
}

describe('in a store whose calls overtake each other', () => {
  const service = useSaml(() => ({ extensions: [saml()], directory: jitteryDirectory(memoryDirectory(), seededRandom(17)) }));

  test('If-Match: of twenty who saw the same, one changes it', async () => {
    const root = await asAdministrator(service.issuer, 'root');
    const path = '/saml-service-providers';
    const { json, headers } = await root.post(path, {
      entityId: 'https://matched.example',
      assertionConsumerServices: [{ url: 'https://sp.example/acs' }],
    });
    const match = { 'if-match': headers.get('etag') ?? '' };
    const changes = Array.from({ length: 20 }, (_, index) => root.patch(`${path}/${json.id}`, { name: `Name ${index}` }, match));
    expect((await Promise.all(changes)).map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(412)]);
  });
});

describe('in memory', () => {
  suite(() => {
    const [artifacts, directory] = [memoryArtifacts(), memoryDirectory()];
    return { stores: () => ({ artifacts, directory }) };
  });
});

withMongo('MONGODB_URL', (mongo) => {
  withServer('REDIS_URL', (url) => {
    describe('on Redis and MongoDB', () => {
      suite(() => {
        const clients = [redisClient(url), redisClient(url)];
        const prefix = mongo.prefix();
        return {
          stores: (node) => ({
            artifacts: redisArtifacts({ client: clients[node] as (typeof clients)[number], prefix: `saml-${process.pid}-${prefix}:` }),
            directory: mongoDirectory({ db: mongo.db, prefix }),
          }),
          close: () => clients.map((client) => client.disconnect()),
        };
      });
    });
  });
});
