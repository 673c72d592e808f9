import type { Cluster, Redis } from 'ioredis';
import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import { createAccountIndex, indexByAccountScript } from './account-index.js';
import { checkOptions } from './client-options.js';
import { commitScript, createCommits } from './commits.js';
import { createConnection } from './connection.js';
import { createCounters, hitScript } from './counters.js';
import { inTime } from './deadline.js';
import { createLeases, leaseScript } from './leases.js';
import { endSilentConnections } from './liveness.js';
import { createReads, followScript } from './reads.js';
import { checkServer, primariesOf, ready } from './servers.js';

export interface RedisArtifactsOptions {
  /** An ioredis client, created with `redisOptions` or `redisClusterOptions`. The host closes the client, because `close` leaves the client open. */
  readonly client: Redis | Cluster;
  /** Prefix of all store keys. @default `idp:` */
  readonly prefix?: string;
}

const scripts = [followScript, commitScript, indexByAccountScript, hitScript, leaseScript];

/**
 * Creates an artifact store in Redis 6.2 or later. Every call is one round trip, except a commit or read over several slots of a Cluster.
 * @throws ConfigError `invalid_options` if the client's options would break a promise of the store.
 * @example
 * ```ts
 * import { Redis } from 'ioredis';
 * import { createIdentityProvider } from 'tenant-idp';
 * import { redisArtifacts, redisOptions } from 'tenant-idp/adapters/redis';
 *
 * const client = new Redis('redis://localhost:6379', redisOptions);
 * client.on('error', console.error);
 * const idp = await createIdentityProvider({ issuer: 'http://localhost:3000', artifacts: redisArtifacts({ client }) });
 * await idp.listen(3000);
 * ```
 */
export function redisArtifacts({ client, prefix = 'idp:' }: RedisArtifactsOptions): ArtifactStore {
  checkOptions(client, prefix);
  const connection = createConnection(client);
  /** Returns the time of this node, until the store is opened with the time that all nodes share. */
  let clock = (): number => Date.now();
  const now = (): number => clock();
  const accounts = createAccountIndex(connection, prefix, now);
  let watching: (() => void) | undefined;
  const stopWatching = (): void => {
    watching?.();
    watching = undefined;
  };

  return {
    name: 'redis',
    ephemeral: false,

    async open(given = clock) {
      clock = given;
      watching ??= endSilentConnections(client);
      try {
        await ready(client);
        const servers = primariesOf(client);
        await Promise.all(servers.map(checkServer));
        await Promise.all(servers.flatMap((server) => scripts.map(({ lua }) => inTime(server.script('LOAD', lua)))));
      } catch (error) {
        stopWatching();
        throw error;
      }
    },

    ...createReads(connection, prefix, now),
    ...createCommits(connection, prefix, accounts, now),
    listByAccount: accounts.listByAccount,
    ...createCounters(connection, prefix),
    ...createLeases(connection, prefix),

    /** Returns the server's time. In a Cluster, the primary of the first slot has the time. */
    async time() {
      const [seconds, microseconds] = (await inTime((primariesOf(client)[0] as Redis).time())) as [number, number];
      return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
    },

    async health() {
      if (client.status !== 'ready') throw new Error(`The client is not ready: ${client.status}.`);
      await Promise.all(primariesOf(client).map((server) => inTime(server.ping())));
    },

    async close() {
      stopWatching();
    },
  };
}
