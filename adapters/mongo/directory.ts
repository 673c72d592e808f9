import type { Collection, DirectoryStore, Row } from '../../lib/store/directory-store.js';
import { openedCollection } from '../../lib/store/row-contract.js';
import { createDatabase, type MongoOptions } from './database.js';
import type { RowDocument } from './rows/row-document.js';
import { Rows } from './rows/rows.js';

/**
 * Creates a directory store in MongoDB, with a document for each row. Do not shard the collections of the store, because a unique index holds
 * within one shard.
 * @throws ConfigError
 * @example
 * ```ts
 * import { MongoClient } from 'mongodb';
 * import { createIdentityProvider } from 'tenant-idp';
 * import { mongoDirectory, mongoOptions } from 'tenant-idp/adapters/mongo';
 *
 * const client = new MongoClient('mongodb://localhost:27017', mongoOptions);
 * const directory = mongoDirectory({ db: client.db('login'), prefix: 'idp_' });
 * const idp = await createIdentityProvider({ issuer: 'http://localhost:3000', directory });
 * await idp.listen(3000);
 * ```
 */
export function mongoDirectory(options: MongoOptions): DirectoryStore {
  const database = createDatabase(options);
  const collections = new Map<string, Rows<Row>>();
  return {
    name: 'mongo',
    ephemeral: false,

    async open(specs) {
      await database.check();
      const opening = specs.map(async ({ name, indexes }) => {
        const rows = collections.get(name) ?? new Rows(name, database.collection<RowDocument>(name));
        await rows.ensureIndexes(indexes);
        collections.set(name, rows);
      });
      await Promise.all(opening);
    },

    collection<R extends Row>(name: string): Collection<R> {
      return openedCollection(collections, name) as unknown as Collection<R>;
    },

    health: database.ping,
    async close() {},
  };
}
