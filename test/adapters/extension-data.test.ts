/** house §5: rows and short-lived records of extensions, in each of the stores. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { IdentityProviderOptions } from 'tenant-idp';
import { mongoArtifacts, mongoDirectory } from 'tenant-idp/adapters/mongo';
import { redisArtifacts } from 'tenant-idp/adapters/redis';
import { type ArtifactKind, defineCollection, type Extension, type ExtensionContext, type RowEvent, Type } from 'tenant-idp/extension';
import { withServer } from '../servers/when.js';
import { journeySeed } from '../support/client/journey.js';
import { useIdp } from '../support/service/use-idp.js';
import { withMongo } from '../support/stores/mongo.js';
import { ownPrefix, redisClient } from '../support/stores/redis-clients.js';
import { backToPresent, passTime } from '../support/time/clock.js';
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
    afterEach(backToPresent);
    let tid = '';
    beforeAll(async () => {
      tid = (await service.idp.directory.tenants.find())[0]?.id ?? '';
    });

    test('rows are as they were, and told of', async () => {
      const told: unknown[] = [];
      service.idp.events.on('NoteTaken' as never, (event) => void told.push((event as { data: unknown }).data));
      const rows = context.records.collection(notes, tid);
      const event = { type: 'NoteTaken', data: { AggregateId: '1' } } as unknown as RowEvent;
      const row = await rows.insert({ text: 'one', at: new Date(5), tags: ['a', 'b'] }, { events: [event] });
      expect(await rows.find('byTag', ['b'])).toEqual([{ ...row, version: expect.any(Number) }]);
      expect(row.at).toEqual(new Date(5));
      await expect(rows.insert({ text: 'one', at: new Date(), tags: [] })).rejects.toMatchObject({ code: 'conflict' });
      expect(await context.records.collection(notes, 'elsewhere').get(row.id)).toBeUndefined();
      await until(() => told.length > 0);
      expect(told).toEqual([{ AggregateId: '1' }]);
      await rows.remove(row.id);
      expect(await rows.list()).toEqual([]);
      expect((await service.idp.health()).problems).toEqual([]);
    });

    test.each([12, -12])('L6: on a node whose clock is %i s off, short-lived records end when they should', async (seconds) => {
      const kept = context.records.artifact(links);
      passTime(seconds);
      expect(await kept.put(`soon ${seconds}`, 1, { lifetimeSeconds: 10 })).toBe(true);
      expect(await kept.put(`soon ${seconds}`, 2, { lifetimeSeconds: 10 })).toBe(false);
      expect([await kept.read(`soon ${seconds}`), await kept.take(`soon ${seconds}`)]).toEqual([1, 1]);
      expect(await kept.take(`soon ${seconds}`)).toBeUndefined();
      const before = context.service.now();
      const { resetsAt } = await context.limits.attempts(`soon ${seconds}`, 10_000);
      expect(Math.round((resetsAt.getTime() - before) / 5000)).toBe(2);
    });

    test('short-lived records are taken once', async () => {
      const kept = context.records.artifact(links);
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
