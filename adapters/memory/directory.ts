import type { Collection, DirectoryStore, Row } from '../../lib/store/directory-store.js';
import { openedCollection } from '../../lib/store/row-contract.js';
import { Rows } from './rows.js';

/**
 * Creates a directory store in memory.
 * @example
 * ```ts
 * import { createIdentityProvider } from 'tenant-idp';
 * import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
 *
 * const stores = { artifacts: memoryArtifacts(), directory: memoryDirectory() };
 * const idp = await createIdentityProvider({ issuer: 'http://localhost:3000', ...stores });
 * await idp.listen(3000);
 * ```
 */
export function memoryDirectory(): DirectoryStore {
  const tables = new Map<string, Rows<Row>>();
  return {
    name: 'memory',
    ephemeral: true,

    async open(specs) {
      for (const { name, indexes } of specs) {
        const table = tables.get(name) ?? new Rows(name);
        table.ensureIndexes(indexes);
        tables.set(name, table);
      }
    },

    collection<R extends Row>(name: string): Collection<R> {
      return openedCollection(tables, name) as unknown as Collection<R>;
    },

    async health() {},
    async close() {},
  };
}
