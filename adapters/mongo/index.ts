/** Stores in MongoDB, or in a server that is compatible with it, for the driver `mongodb` 7. */
export { mongoArtifacts } from './artifacts.js';
export { mongoOptions } from './client-options.js';
export type { MongoOptions } from './database.js';
export { mongoDirectory } from './directory.js';
