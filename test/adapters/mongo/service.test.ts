/** Issue 5: the whole service on MongoDB, artifacts and directory. */
import { describe, expect, test } from '@jest/globals';
import { createIdentityProvider } from 'tenant-idp';
import { mongoArtifacts, mongoDirectory } from 'tenant-idp/adapters/mongo';
import { journey, journeySeed, wholeJourney } from '../../support/client/journey.js';
import { useIdp } from '../../support/service/use-idp.js';
import { withMongo } from '../../support/stores/mongo.js';

withMongo('MONGODB_URL', (mongo) => {
  const prefix = mongo.prefix();
  const encryption = ['a key of the test for what is kept encrypted'];

  describe('the service on MongoDB', () => {
    const service = useIdp(() => {
      const stores = { artifacts: mongoArtifacts({ db: mongo.db, prefix }), directory: mongoDirectory({ db: mongo.db, prefix }) };
      return { seed: journeySeed, ...stores };
    });

    test('signs in, issues and refreshes tokens, and signs out', async () => {
      expect(await journey(service.issuer)).toMatchObject(wholeJourney(service.issuer));
      expect(service.logged).toEqual([]);
      expect(await service.idp.health()).toEqual({ status: 'up', artifacts: 'up', directory: 'up', problems: [] });
    });

    test('J5: what it leaves in the database is none of what it handed out', async () => {
      const { tokens, refreshed, setCookies } = await journey(service.issuer);
      const names = (await mongo.db.listCollections().toArray()).map(({ name }) => name);
      const dumps = await Promise.all(names.map((name) => mongo.db.collection(name).find().toArray()));
      const dump = JSON.stringify(dumps);
      const cookies = setCookies.map((line) => line.slice(line.indexOf('=') + 1).split(';')[0] ?? '').filter((value) => value.length > 20);
      const handedOut = [tokens.access_token, tokens.refresh_token, refreshed.access_token, refreshed.refresh_token, ...cookies];
      expect(dump.length).toBeGreaterThan(10_000);
      expect(handedOut.length).toBeGreaterThan(5);
      expect(handedOut.filter((secret) => dump.includes(secret))).toEqual([]);
    });

    test('nodes that start together over an empty database agree on what is seeded', async () => {
      const empty = mongo.prefix();
      const nodes = await Promise.all(
        [1, 2, 3].map(async () => {
          const db = await mongo.connect();
          return createIdentityProvider({
            issuer: 'http://localhost:3000',
            seed: journeySeed,
            artifacts: mongoArtifacts({ db, prefix: empty }),
            directory: mongoDirectory({ db, prefix: empty }),
            keys: { encryption },
            logger: { debug() {}, info() {}, warn() {}, error() {} },
          });
        }),
      );
      const found = await Promise.all(nodes.map((node) => node.directory.clients.get('web')));
      expect(found).toEqual(nodes.map(() => expect.objectContaining({ id: 'web' })));
      expect(await mongo.db.collection(`${empty}persons`).countDocuments()).toBe(1);
      await Promise.all(nodes.map((node) => node.close()));
    });
  });
});
