/** Artifacts in Redis: a single server, one behind Sentinel, or a Cluster. Needs `ioredis`, whose clients the host creates. */
export { type RedisArtifactsOptions, redisArtifacts } from './artifacts.js';
export { redisClusterOptions, redisOptions } from './client-options.js';
