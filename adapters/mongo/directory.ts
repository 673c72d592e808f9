import type { Collection, DirectoryStore, Row } from '../../lib/store/directory-store.js';
import { createDatabase, type MongoOptions } from './database.js';
import type { RowDocument } from './row-document.js';
import { Rows } from './rows.js';

/**
 * A directory store in MongoDB: a document for each row. A unique index holds within one shard, so its collections are not to be sharded.
 * @throws ConfigError
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
      const rows = collections.get(name);
      if (rows === undefined) throw new TypeError(`The collection '${name}' was not opened.`);
      return rows as unknown as Collection<R>;
    },

    health: database.ping,
    async close() {},
  };
}
