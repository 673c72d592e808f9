/** Artifacts in Redis: a single server, a server behind Sentinel, or a Cluster. Needs `ioredis`. The host creates the client. */
export { type RedisArtifactsOptions, redisArtifacts } from './artifacts.js';
export { redisClusterOptions, redisOptions } from './client-options.js';
