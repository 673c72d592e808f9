import { describe, expect, test } from '@jest/globals';
import type { Db, Document } from 'mongodb';
import { testArtifactStore, testDirectoryStore } from 'tenant-idp/adapters/conformance';
import { mongoArtifacts, mongoDirectory } from 'tenant-idp/adapters/mongo';
import { hashedKey } from '../../../lib/store/artifact-key.js';
import type { Row } from '../../../lib/store/directory-store.js';
import { withMongo } from '../../support/stores/mongo.js';

const key = hashedKey('Test', 'a');
const later = () => Date.now() + 60_000;

describe('mongoArtifacts and mongoDirectory', () => {
  test.each([mongoArtifacts, mongoDirectory])('%p refuses what is no database, and a prefix that no collection can have', (make) => {
    const db = { collection: () => {} } as unknown as Db;
    for (const wrong of [undefined, null, {}, 'mongodb://localhost']) {
      expect(() => make({ db: wrong as unknown as Db })).toThrow(expect.objectContaining({ code: 'invalid_options' }));
    }
    for (const prefix of ['$', 'a$b', 'system.', '.a', 'a b', 'a\0', 'x'.repeat(65)]) {
      expect(() => make({ db, prefix })).toThrow(/prefix: expected/);
    }
    expect(() => make({ db, prefix: '' })).not.toThrow();
  });
});

withMongo('MONGODB_URL', (mongo) => {
  let prefix = '';
  let other: Promise<Db> | undefined;
  const own = () => {
    prefix = mongo.prefix();
    return { db: mongo.db, prefix };
  };
  const peer = async () => {
    other ??= mongo.connect();
    return { db: await other, prefix };
  };
  testArtifactStore('mongo', async () => mongoArtifacts(own()), { peer: async () => mongoArtifacts(await peer()) });
  testDirectoryStore('mongo', async () => mongoDirectory(own()), { peer: async () => mongoDirectory(await peer()) });

  describe('mongo stores at open', () => {
    test('many nodes that start at once make every index once', async () => {
      const prefix = mongo.prefix();
      const specs = [{ name: 'rows', indexes: { byName: { fields: ['name'], unique: true }, byTag: { fields: ['tid', 'tags'] } } }];
      const nodes = await Promise.all(Array.from({ length: 4 }, () => mongo.connect()));
      await Promise.all(
        [...nodes, ...nodes].flatMap((db) => [mongoArtifacts({ db, prefix }).open(), mongoDirectory({ db, prefix }).open(specs)]),
      );
      const indexesOf = async (name: string) => (await mongo.db.collection(prefix + name).indexes()).map((index) => index.name);
      expect(await indexesOf('rows')).toEqual(['_id_', 'byName', 'byTag']);
      expect(await indexesOf('artifacts')).toEqual(['_id_', 'expiry', 'account', 'accountAfter']);
      expect(await indexesOf('counters')).toEqual(['_id_', 'expiry']);
      expect(await indexesOf('leases')).toEqual(['_id_', 'expiry']);
    });

    test('J3: what expires is removed by the server itself', async () => {
      const prefix = mongo.prefix();
      await mongoArtifacts({ db: mongo.db, prefix }).open();
      for (const name of ['artifacts', 'counters', 'leases']) {
        const indexes = await mongo.db.collection(prefix + name).indexes();
        expect(indexes.find((index) => index.name === 'expiry')).toMatchObject({ key: { e: 1 }, expireAfterSeconds: 0 });
      }
    });

    test.each([
      ['over other fields', { tid: 1 } as const, {}],
      ['that is not unique', { name: 1 } as const, { partialFilterExpression: { name: { $gte: '' } } }],
    ])('an index of the same name %s is refused: values would be taken twice', async (_, fields, options) => {
      const prefix = mongo.prefix();
      await mongo.db.collection(`${prefix}rows`).createIndex(fields, { name: 'byName', ...options });
      const opening = mongoDirectory({ db: mongo.db, prefix }).open([
        { name: 'rows', indexes: { byName: { fields: ['name'], unique: true } } },
      ]);
      await expect(opening).rejects.toMatchObject({ code: 'store_unfit', details: { collection: `${prefix}rows` } });
    });

    test('an expiry index that removes later is refused', async () => {
      const prefix = mongo.prefix();
      await mongo.db.collection(`${prefix}artifacts`).createIndex({ e: 1 }, { name: 'expiry', expireAfterSeconds: 3600 });
      await expect(mongoArtifacts({ db: mongo.db, prefix }).open()).rejects.toMatchObject({ code: 'store_unfit' });
    });

    test('a client that may never see its server again is refused where the driver asks for it', async () => {
      const found = { store: 'mongo', setting: 'minHeartbeatFrequencyMS', found: 500 };
      const db = await mongo.connect({ heartbeatFrequencyMS: 10_000, minHeartbeatFrequencyMS: 500, serverMonitoringMode: 'poll' });
      const prefix = mongo.prefix();
      for (const open of [mongoArtifacts({ db, prefix }).open, () => mongoDirectory({ db, prefix }).open([])]) {
        await expect(open()).rejects.toMatchObject({ code: 'store_unfit', details: found });
      }
    });

    test('a node that does not know an index yet writes rows that are in it all the same', async () => {
      const prefix = mongo.prefix();
      const [before, after] = [mongoDirectory({ db: mongo.db, prefix }), mongoDirectory({ db: mongo.db, prefix })];
      await before.open([{ name: 'rows', indexes: {} }]);
      await after.open([{ name: 'rows', indexes: { byTags: { fields: ['tags'] } } }]);
      await before.collection<Row & { tags: string[] }>('rows').insert({ id: 'a', tags: ['x', 'y'] });
      expect(await after.collection('rows').find({ byTags: ['y'] })).toMatchObject([{ id: 'a' }]);
    });
  });

  describe("mongo stores and their user's client", () => {
    const options = {
      promoteValues: false,
      promoteLongs: false,
      ignoreUndefined: true,
      readPreference: 'secondary',
      writeConcern: { w: 0 },
      readConcern: { level: 'available' },
      retryWrites: false,
    } as const;

    test('records come back whole and refusals are heard, whatever the options of the client', async () => {
      const hostile = await mongo.connect(options);
      const prefix = mongo.prefix();
      const [artifacts, directory] = [mongoArtifacts({ db: hostile, prefix }), mongoDirectory({ db: hostile, prefix })];
      await Promise.all([
        artifacts.open(),
        directory.open([{ name: 'rows', indexes: { byName: { fields: ['name'], unique: true } } }]),
        artifacts.health(),
      ]);
      const record = { value: 'v', expiresAt: later(), consumedAt: 1_700_000_000_123, links: { a: key } };
      await artifacts.commit([{ op: 'put', key, ...record }]);
      expect([...(await artifacts.read([{ key, follow: ['a'] }])).values()]).toEqual([{ key, version: 1, ...record }]);
      expect(await artifacts.hit(key, 60_000)).toEqual({ count: 1, resetsAt: expect.any(Number) });
      const rows = directory.collection('rows');
      const row = { id: 'a', name: 'x', count: 3, at: new Date(5), big: 2 ** 40 };
      expect(await rows.insert(row)).toEqual({ ...row, version: 1 });
      expect(await rows.get('a')).toEqual({ ...row, version: 1 });
      await expect(rows.insert({ ...row, id: 'b' })).rejects.toMatchObject({ code: 'conflict' });
    });

    test('the client stays open when a store is closed', async () => {
      const prefix = mongo.prefix();
      const [artifacts, directory] = [mongoArtifacts({ db: mongo.db, prefix }), mongoDirectory({ db: mongo.db, prefix })];
      await artifacts.close();
      await directory.close();
      await artifacts.health();
      await directory.health();
    });
  });

  describe('rows in mongo', () => {
    test('a document is the row, so that people can read and query it', async () => {
      const prefix = mongo.prefix();
      const directory = mongoDirectory({ db: mongo.db, prefix });
      await directory.open([{ name: 'rows', indexes: {} }]);
      const at = new Date(5);
      const row = { id: 'a', user: { userNameKey: 'alice', at }, metadata: { 'a.b': 1, _id: 2, $set: 3 } };
      await directory.collection('rows').insert(row);
      expect(await mongo.db.collection(`${prefix}rows`).findOne({ 'user.userNameKey': 'alice' })).toEqual({
        _id: 'a',
        version: 1,
        user: { userNameKey: 'alice', at },
        metadata: { 'a%2Eb': 1, '%5Fid': 2, '%24set': 3 },
      });
      expect(await directory.collection('rows').get('a')).toMatchObject({ metadata: { 'a.b': 1, _id: 2, $set: 3 } });
    });

    test('a row that is not plain data is refused with the place of what is not', async () => {
      const directory = mongoDirectory({ db: mongo.db, prefix: mongo.prefix() });
      await directory.open([{ name: 'rows', indexes: {} }]);
      const row = { id: 'a', attributes: { list: [1, new Map()] } };
      await expect(directory.collection('rows').insert(row)).rejects.toThrow("not plain data at 'attributes.list[1]'");
    });

    test('all rows are found, however many', async () => {
      const prefix = mongo.prefix();
      const directory = mongoDirectory({ db: mongo.db, prefix });
      await directory.open([{ name: 'rows', indexes: { byTenant: { fields: ['tid'] } } }]);
      const ids = Array.from({ length: 2001 }, (_, index) => `r${String(index).padStart(4, '0')}`);
      await mongo.db.collection<{ _id: string }>(`${prefix}rows`).insertMany(ids.map((_id) => ({ _id, version: 1, tid: 't' })));
      const found = await directory.collection('rows').find({ byTenant: ['t'] });
      expect(found.map(({ id }) => id)).toEqual(ids);
    });
  });

  describe('ordered indexes in mongo', () => {
    test('the server reads each part of a range from the index, and looks a value up in it', async () => {
      const prefix = mongo.prefix();
      const db = await mongo.connect({ monitorCommands: true });
      const directory = mongoDirectory({ db, prefix });
      const byName = { fields: ['tid', 'nameKey'], order: 'text' } as const;
      await directory.open([{ name: 'rows', indexes: { byName, byTenant: { fields: ['tid'] } } }]);
      const rows = directory.collection<Row & { tid: string; nameKey: string }>('rows');
      for (const id of ['a', 'b', 'c', 'd']) await rows.insert({ id, tid: 't', nameKey: id });
      const sent: Document[] = [];
      db.client.on('commandStarted', ({ commandName, command }) => void (commandName === 'find' && sent.push(command)));
      await rows.range({ index: 'byName', within: ['t'], prefix: 'b', limit: 2 });
      await rows.range({ index: 'byName', within: ['t'], after: { value: 'b', id: 'b' }, descending: true, limit: 2 });
      await rows.find({ byName: ['t', 'c'] });
      expect(sent).toHaveLength(4);
      for (const { find, filter, sort, hint, limit } of sent) {
        const plan = await mongo.db.command({ explain: { find, filter, sort, ...(hint && { hint }), ...(limit && { limit }) } });
        expect(JSON.stringify(plan)).toContain('"indexName":"byName"');
        expect(JSON.stringify(plan)).not.toMatch(/COLLSCAN|Seq Scan/);
      }
    });
  });

  describe('what mongo is sent', () => {
    test('one round trip: a read with the records it follows, and a commit of one record or of new ones for one that is spent', async () => {
      const db = await mongo.connect({ monitorCommands: true });
      const sent: string[] = [];
      const store = mongoArtifacts({ db, prefix: mongo.prefix() });
      await store.open();
      db.client.on('commandStarted', ({ commandName }) => sent.push(commandName));
      const sentFor = async (call: Promise<unknown>) => {
        await call;
        return sent.splice(0);
      };
      const keyOf = (name: string) => hashedKey('Sent', name);
      const put = (name: string, more: object = {}) => ({ op: 'put', key: keyOf(name), value: name, expiresAt: later(), ...more }) as const;

      expect(await sentFor(store.commit([put('code')]))).toEqual(['update']);
      const spent = put('code', { if: 'unconsumed', consumedAt: 1, links: { grant: keyOf('grant'), next: keyOf('next') } });
      const grant = put('grant');
      expect(await sentFor(store.commit([spent, grant, put('next', { if: 'absent' })]))).toEqual(['update']);
      const swapped = put('next', { if: { version: 1 } });
      expect(await sentFor(store.commit([grant, put('newest'), swapped]))).toEqual(['update']);
      const reading = store.read([{ key: keyOf('code'), follow: ['grant', 'next'] }]);
      expect(await sentFor(reading)).toEqual(['aggregate']);
      expect([...(await reading).values()].map(({ value }) => value).sort()).toEqual(['code', 'grant', 'next']);
      expect(await sentFor(store.read([{ key: keyOf('code') }]))).toEqual(['find']);
      expect(await sentFor(store.commit([{ op: 'remove', key: keyOf('code'), until: later() }]))).toEqual(['update']);
      await store.hit(keyOf('hits'), 60_000);
      sent.splice(0);
      expect(await sentFor(store.hit(keyOf('hits'), 60_000))).toEqual(['findAndModify']);
      expect(await sentFor(store.lease('one', 'me', 1000))).toEqual(['update']);
    });
  });
});
