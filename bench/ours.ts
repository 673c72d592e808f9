/** tenant-idp with every standard claim computed from the directory, once for each Redis that it is given. */
import { Redis } from 'ioredis';
import { redisArtifacts, redisOptions } from '../adapters/redis/index.js';
import { createIdentityProvider } from '../lib/index.js';
import { serveAsChild } from './child.js';
import { seed, signingKeys } from './world.js';

const quiet = () => {};
const logger = { debug: quiet, info: quiet, warn: quiet, error: console.error };
const { BENCH_REDIS = '' } = process.env;

await serveAsChild(
  BENCH_REDIS.split(' ').map((url) => async (issuer) => {
    const artifacts = redisArtifacts({ client: new Redis(url, redisOptions) });
    const idp = await createIdentityProvider({ issuer, seed, keys: { signing: signingKeys }, artifacts, logger });
    return idp.callback();
  }),
);
