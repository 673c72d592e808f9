/** T3-ERASE-SUB: FerretDB undoes a statement in a deadlock (SQLSTATE 40P01, as a number). The stores work as without deadlocks. */
import { afterAll, expect, test } from '@jest/globals';
import { type Collection, type Db, MongoBulkWriteError, MongoServerError } from 'mongodb';
import { testArtifactStore } from 'tenant-idp/adapters/conformance';
import { mongoArtifacts, mongoDirectory } from 'tenant-idp/adapters/mongo';
import type { Row } from '../../../lib/store/directory-store.js';
import { withMongo } from '../../support/stores/mongo.js';

const deadlock = { message: 'deadlock detected', code: 16_908_292 };
const writes = ['insertOne', 'replaceOne', 'deleteOne', 'updateOne', 'findOneAndUpdate'];

/** Undoes every fifth statement that writes. In a bulk write, the statements before the last have been executed by then. */
function undoing(db: Db, undone: Map<string, number>): Db {
  let calls = 0;
  const isUndone = (name: string): boolean => {
    calls += 1;
    if (calls % 5 !== 0) return false;
    undone.set(name, (undone.get(name) ?? 0) + 1);
    return true;
  };
  const collection = (of: Collection): Collection =>
    new Proxy(of, {
      get(target, member) {
        const value: unknown = Reflect.get(target, member);
        const name = String(member);
        if (typeof value !== 'function') return value;
        if (writes.includes(name))
          return async (...parameters: unknown[]) => {
            if (isUndone(name)) throw new MongoServerError(deadlock);
            return Reflect.apply(value, target, parameters) as unknown;
          };
        if (name === 'bulkWrite')
          return async (operations: never[], options: never) => {
            if (!isUndone(name)) return target.bulkWrite(operations, options);
            const before = operations.slice(0, -1);
            if (before.length > 0) await target.bulkWrite(before, options);
            throw new MongoBulkWriteError(deadlock, {} as never);
          };
        return value.bind(target) as unknown;
      },
    });
  return new Proxy(db, {
    get(target, member) {
      if (member === 'collection') return (...parameters: Parameters<Db['collection']>) => collection(target.collection(...parameters));
      const value: unknown = Reflect.get(target, member);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

withMongo('MONGODB_URL', (mongo) => {
  const undone = new Map<string, number>();
  const own = () => ({ db: undoing(mongo.db, undone), prefix: mongo.prefix() });
  testArtifactStore('mongo with statements undone', async () => mongoArtifacts(own()));

  test('rows are written once', async () => {
    const store = mongoDirectory(own());
    await store.open([{ name: 'rows', indexes: { byName: { fields: ['name'], unique: true } } }]);
    const rows = store.collection<Row & { name: string }>('rows');
    for (let row = 0; row < 12; row += 1) {
      const id = `row ${row}`;
      await rows.insert({ id, name: id });
      await expect(rows.insert({ id: `another ${row}`, name: id })).rejects.toMatchObject({ code: 'conflict' });
      expect(await rows.update(id, (now) => ({ ...now, name: `new ${row}` }))).toMatchObject({ version: 2 });
      expect([await rows.remove(id), await rows.remove(id)]).toEqual([true, false]);
    }
    await store.close?.();
  });

  afterAll(() => {
    expect([...undone.keys()].sort()).toEqual(['bulkWrite', ...writes].sort());
  });
});
