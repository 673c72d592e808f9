import type { Collection, DirectoryStore, Row } from '../../lib/store/directory-store.js';
import { openedCollection } from '../../lib/store/row-contract.js';
import { pathOf, type SqliteOptions } from './file-option.js';
import { Rows } from './rows.js';
import { FileUse } from './shared-file.js';

/**
 * Creates a directory store in a file of SQLite. Only one process may use the file. Both stores of a service may share the file.
 * @throws ConfigError; IdpError `store_unfit` on a Node.js without SQLite.
 * @example
 * ```ts
 * import { createIdentityProvider } from 'tenant-idp';
 * import { sqliteDirectory } from 'tenant-idp/adapters/sqlite';
 *
 * const directory = sqliteDirectory({ file: './idp.db' });
 * const idp = await createIdentityProvider({ issuer: 'http://localhost:3000', directory });
 * await idp.listen(3000);
 * ```
 */
export function sqliteDirectory(options: SqliteOptions): DirectoryStore {
  const file = new FileUse(pathOf(options));
  const collections = new Map<string, Rows<Row>>();
  return {
    name: 'sqlite',
    ephemeral: false,
    nodes: 1,

    async open(specs) {
      await file.call('open', specs);
      for (const { name, indexes } of specs) {
        const rows = collections.get(name) ?? new Rows(name, file);
        rows.declare(indexes);
        collections.set(name, rows);
      }
    },

    collection<R extends Row>(name: string): Collection<R> {
      return openedCollection(collections, name) as unknown as Collection<R>;
    },

    health: () => file.call('health'),
    close: () => file.close(),
  };
}
