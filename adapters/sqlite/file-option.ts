import { isBuiltin } from 'node:module';
import { resolve } from 'node:path';
import { ConfigError, IdpError } from '../../lib/errors.js';

export interface SqliteOptions {
  /**
   * Path of the file, such as `./idp.db`. The folder of the file must exist, and must be on a disk of this machine. A missing file is created, and only its
   * owner can read it. The folder also gets `<file>-wal`, `<file>-shm` and `<file>-lock`.
   */
  readonly file: string;
}

/** Oldest version of Node.js that has SQLite without a flag. */
const OLDEST_NODE = '22.13';

/**
 * Returns the absolute path of the file.
 * @throws ConfigError for a file that is not a path; IdpError `store_unfit` on a Node.js without SQLite.
 */
export function pathOf({ file }: SqliteOptions): string {
  if (typeof file !== 'string' || file === '' || file.includes('\0') || /^(?:file:|:memory:$)/.test(file)) {
    throw new ConfigError('invalid_options', [
      { path: 'file', expected: "the path of a file, such as './idp.db'", received: String(file) },
    ]);
  }
  if (!isBuiltin('node:sqlite')) {
    throw new IdpError('store_unfit', {
      store: 'sqlite',
      setting: 'Node.js',
      found: process.versions.node,
      expected: `${OLDEST_NODE} or later`,
      change: `start the service with Node.js ${OLDEST_NODE} or later, or use another store`,
    });
  }
  return resolve(file);
}
