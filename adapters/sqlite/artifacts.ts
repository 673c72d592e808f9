import type { Artifact, ArtifactKey, ArtifactStore } from '../../lib/store/artifact-store.js';
import { pathOf, type SqliteOptions } from './file-option.js';
import { FileUse } from './shared-file.js';

/**
 * Creates an artifact store in a file of SQLite. Only one process may use the file. Both stores of a service may share the file.
 * @throws ConfigError; IdpError `store_unfit` on a Node.js without SQLite.
 * @example
 * ```ts
 * import { createIdentityProvider } from 'tenant-idp';
 * import { sqliteArtifacts, sqliteDirectory } from 'tenant-idp/adapters/sqlite';
 *
 * const stores = { artifacts: sqliteArtifacts({ file: './idp.db' }), directory: sqliteDirectory({ file: './idp.db' }) };
 * const idp = await createIdentityProvider({ issuer: 'http://localhost:3000', ...stores });
 * await idp.listen(3000);
 * ```
 */
export function sqliteArtifacts(options: SqliteOptions): ArtifactStore {
  const file = new FileUse(pathOf(options));
  return {
    name: 'sqlite',
    ephemeral: false,
    nodes: 1,
    open: () => file.call('open', []),

    async read(requests) {
      const artifacts = new Map<ArtifactKey, Artifact>();
      if (requests.length === 0) return artifacts;
      for (const artifact of await file.call('readArtifacts', requests)) artifacts.set(artifact.key, artifact);
      return artifacts;
    },

    async commit(writes) {
      if (new Set(writes.map(({ key }) => key)).size < writes.length)
        throw new TypeError('A key occurs twice in one commit. Write each key once.');
      return writes.length === 0 ? { ok: true } : file.call('commitArtifacts', writes);
    },

    listByAccount: (account) => file.call('listByAccount', account),
    hit: (counter, window, by = 1) => file.call('hit', counter, window, by),
    lease: (name, holder, ttl) => file.call('lease', name, holder, ttl),
    health: () => file.call('health'),
    close: () => file.close(),
  };
}
