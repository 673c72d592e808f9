/** Stores in a file of SQLite, for a service of one process. The stores need Node.js 22.13 or later, and no server. */
export { sqliteArtifacts } from './artifacts.js';
export { sqliteDirectory } from './directory.js';
export type { SqliteOptions } from './file-option.js';
