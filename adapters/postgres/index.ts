/** Stores in PostgreSQL 15 or later, for the driver `pg` 8 and other pools with the same `connect`. */
export { postgresArtifacts } from './artifacts.js';
export { postgresDirectory } from './directory.js';
export { type PostgresClient, type PostgresOptions, type PostgresPool, postgresOptions } from './pool.js';
