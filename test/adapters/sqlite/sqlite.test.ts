/** Issue 44: the stores in a file of SQLite, held to the contracts. */
import { testArtifactStore, testDirectoryStore } from 'tenant-idp/adapters/conformance';
import { sqliteArtifacts, sqliteDirectory } from 'tenant-idp/adapters/sqlite';
import { withSqlite } from '../../support/stores/sqlite.js';

withSqlite((files) => {
  let file = '';
  const own = () => {
    file = files.file();
    return { file };
  };
  testArtifactStore('sqlite', async () => sqliteArtifacts(own()), { peer: async () => sqliteArtifacts({ file }) });
  testDirectoryStore('sqlite', async () => sqliteDirectory(own()), { peer: async () => sqliteDirectory({ file }) });
});
