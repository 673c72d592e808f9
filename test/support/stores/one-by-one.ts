import type { Collection, Db, Document } from 'mongodb';

/** Returns a database that runs each statement of a write alone, after `before`, so that a test can crash in the middle of a write. */
export function oneByOne(db: Db, before: () => void | Promise<void>): Db {
  const collection = (...parameters: Parameters<Db['collection']>): Collection => {
    const whole: Collection<Document> = db.collection(...parameters);
    return overridden(whole, {
      async bulkWrite(operations, options) {
        const counts = { matchedCount: 0, upsertedCount: 0 };
        for (const operation of operations) {
          await before();
          const { matchedCount, upsertedCount } = await whole.bulkWrite([operation], options);
          counts.matchedCount += matchedCount;
          counts.upsertedCount += upsertedCount;
        }
        return counts as Awaited<ReturnType<Collection['bulkWrite']>>;
      },
      async insertOne(...call) {
        await before();
        return whole.insertOne(...call);
      },
      async deleteMany(...call) {
        await before();
        return whole.deleteMany(...call);
      },
    });
  };
  return overridden(db, { collection: collection as Db['collection'] });
}

const overridden = <T extends object>(target: T, methods: Partial<T>): T =>
  new Proxy(target, {
    get(_, name) {
      if (Object.hasOwn(methods, name)) return Reflect.get(methods, name);
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
