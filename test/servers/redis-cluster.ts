/** A Redis Cluster of three masters without replicas, each a {@link RedisServer}. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from '../support/example.js';
import { RedisServer } from '../support/redis-server.js';

/** All of a cluster. */
const SLOTS = 16_384;
/** Milliseconds until masters that met have to agree. */
const MEETING_TIMEOUT = 10_000;

export interface RedisCluster {
  readonly nodes: readonly RedisServer[];
  stop(): Promise<void>;
}

/** It serves all slots when this resolves. */
export async function startRedisCluster(masters = 3): Promise<RedisCluster> {
  const busPorts = await Promise.all(Array.from({ length: masters }, freePort));
  const starts = await Promise.allSettled(
    busPorts.map((port) => RedisServer.start({ args: ['--cluster-enabled', 'yes', '--cluster-port', `${port}`] })),
  );
  const nodes = starts.flatMap((start) => (start.status === 'fulfilled' ? start.value : []));
  const stop = async () => void (await Promise.all(nodes.map((node) => node.stop())));
  try {
    for (const start of starts) if (start.status === 'rejected') throw start.reason;
    await introduce(nodes, busPorts);
    return { nodes, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** @see https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/ */
async function introduce(nodes: readonly RedisServer[], busPorts: readonly number[]): Promise<void> {
  const clients = nodes.map(({ port }) => new Redis(port, '127.0.0.1'));
  try {
    await Promise.all(
      clients.map(async (client, index) => {
        const first = Math.ceil((SLOTS * index) / nodes.length);
        const last = Math.ceil((SLOTS * (index + 1)) / nodes.length) - 1;
        await client.cluster('ADDSLOTSRANGE', first, last);
        await client.cluster('SET-CONFIG-EPOCH', index + 1);
      }),
    );
    for (const [index, { port }] of nodes.entries()) await clients[0]?.cluster('MEET', '127.0.0.1', port, busPorts[index] as number);
    for (const deadline = Date.now() + MEETING_TIMEOUT; Date.now() < deadline; await sleep(50)) {
      const infos = (await Promise.all(clients.map((client) => client.cluster('INFO')))) as string[];
      if (infos.every((info) => info.includes('cluster_state:ok') && info.includes(`cluster_slots_ok:${SLOTS}`))) return;
    }
    throw new Error('The masters of the Redis Cluster do not find each other.');
  } finally {
    for (const client of clients) client.disconnect();
  }
}
