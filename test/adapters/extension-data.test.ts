/** house §5: rows and short-lived records of extensions, in each of the stores. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { IdentityProviderOptions } from 'tenant-idp';
import { mongoArtifacts, mongoDirectory } from 'tenant-idp/adapters/mongo';
import { redisArtifacts } from 'tenant-idp/adapters/redis';
import { type ArtifactKind, defineCollection, type Extension, type ExtensionContext, type RowEvent, Type } from 'tenant-idp/extension';
import { withServer } from '../servers/when.js';
import { journeySeed } from '../support/client/journey.js';
import { useIdp } from '../support/service/use-idp.js';
import { withMongo } from '../support/stores/mongo.js';
import { ownPrefix, redisClient } from '../support/stores/redis-clients.js';
import { until } from '../support/time/until.js';

const notes = defineCollection({
  name: 'notes.entries',
  row: Type.Object({ text: Type.String(), at: Type.Date(), tags: Type.Array(Type.String()) }, { additionalProperties: false }),
  indexes: { byText: { fields: ['text'], unique: true }, byTag: { fields: ['tags'] } },
  events: true,
});
const links: ArtifactKind = { name: 'notes.links', lifetimeSeconds: 60, once: true };

function suite(name: string, stores: () => Partial<IdentityProviderOptions> | Promise<Partial<IdentityProviderOptions>>): void {
  describe(`house §5: extensions on ${name}`, () => {
    let context: ExtensionContext;
    const extension: Extension = {
      name: 'notes',
      collections: [notes],
      artifacts: [links],
      events: ['NoteTaken' as never],
      routes(_router, given) {
        context = given;
      },
    };
    const service = useIdp(async () => ({ seed: journeySeed, extensions: [extension], ...(await stores()) }));
    let tid = '';
    beforeAll(async () => {
      tid = (await service.idp.directory.tenants.find())[0]?.id ?? '';
    });

    test('rows are as they were, and told of', async () => {
      const told: unknown[] = [];
      service.idp.events.on('NoteTaken' as never, (event) => void told.push((event as { data: unknown }).data));
      const rows = context.collection(notes, tid);
      const event = { type: 'NoteTaken', data: { AggregateId: '1' } } as unknown as RowEvent;
      const row = await rows.insert({ text: 'one', at: new Date(5), tags: ['a', 'b'] }, { events: [event] });
      expect(await rows.find('byTag', ['b'])).toEqual([{ ...row, version: expect.any(Number) }]);
      expect(row.at).toEqual(new Date(5));
      await expect(rows.insert({ text: 'one', at: new Date(), tags: [] })).rejects.toMatchObject({ code: 'conflict' });
      expect(await context.collection(notes, 'elsewhere').get(row.id)).toBeUndefined();
      await until(() => told.length > 0);
      expect(told).toEqual([{ AggregateId: '1' }]);
      await rows.remove(row.id);
      expect(await rows.list()).toEqual([]);
      expect((await service.idp.health()).problems).toEqual([]);
    });

    test('short-lived records are taken once', async () => {
      const kept = context.artifact(links);
      for (let round = 0; round < 5; round += 1) {
        expect(await kept.put(`link ${round}`, { round })).toBe(true);
        const taken = await Promise.all(Array.from({ length: 20 }, () => kept.take(`link ${round}`)));
        expect(taken.filter((value) => value !== undefined)).toEqual([{ round }]);
        expect(await kept.put(`link ${round}`, 'again')).toBe(false);
      }
    });
  });
}

withMongo('MONGODB_URL', (mongo) => {
  const prefix = mongo.prefix();
  suite('MongoDB', () => ({ artifacts: mongoArtifacts({ db: mongo.db, prefix }), directory: mongoDirectory({ db: mongo.db, prefix }) }));
});

withServer('REDIS_URL', (url) => {
  const client = redisClient(url);
  afterAll(() => client.disconnect());
  suite('Redis', () => ({ artifacts: redisArtifacts({ client, prefix: ownPrefix() }) }));
});
