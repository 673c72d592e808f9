/** Files of SQLite for tests, on a Node.js that has SQLite. */
import { chmodSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, test } from '@jest/globals';
import { type Connection, connect } from '../../../adapters/sqlite/worker/node-sqlite.js';

export interface SqliteFiles {
  /** Folder of all files of the suite, which is removed after the suite. */
  readonly folder: string;
  /** Returns the path of a file that does not exist. */
  file(): string;
}

/** Registers a suite. On an older Node.js, a skipped test states the reason, also with `CI=true`, because the CI uses Node.js 24. */
export function withSqlite(suite: (files: SqliteFiles) => void): void {
  if (!isBuiltin('node:sqlite')) {
    describe('needs node:sqlite', () => {
      test.skip(`Node.js ${process.versions.node} has no node:sqlite: these tests run on Node.js 22.13 or later`, () => {});
    });
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'idp-sqlite-'));
  chmodSync(folder, 0o755);
  let files = 0;
  afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  suite({
    folder,
    file() {
      files += 1;
      return join(folder, `${files}.db`);
    },
  });
}

/** Returns a connection of another program, such as the command line of SQLite. */
export function openFile(file: string): Connection {
  const connection = connect(file);
  connection.exec('pragma busy_timeout = 5000');
  return connection;
}
