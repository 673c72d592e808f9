/** A Redis Cluster for one test, without replicas. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from '../service/free-port.js';
import { LIMIT_MS } from '../time/in-time.js';
import { RedisServer } from './redis-server.js';

const SLOTS = 16_384;

export class RedisCluster {
  private constructor(readonly nodes: readonly RedisServer[]) {}

  /** Starts a cluster, and waits until all slots are served. */
  static async start(size = 3): Promise<RedisCluster> {
    const nodes: RedisServer[] = [];
    const cluster = new RedisCluster(nodes);
    try {
      for (let index = 0; index < size; index++) {
        // The bus has a separate port. The default is 10,000 above the node's port, which may not be a valid port.
        const args = ['--cluster-enabled', 'yes', '--cluster-port', `${await freePort()}`, '--cluster-node-timeout', '10000'];
        nodes.push(await RedisServer.start({ args: [...args, '--cluster-require-full-coverage', 'no'] }));
      }
      await cluster.#join();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  get urls(): string {
    return this.nodes.map(({ url }) => url).join(',');
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  /** Sends one command to one node. */
  async ask(node: RedisServer, ...command: [string, ...(string | number)[]]): Promise<string> {
    const client = new Redis(node.url, { maxRetriesPerRequest: 1 });
    try {
      return String(await client.call(...command));
    } finally {
      client.disconnect();
    }
  }

  async #join(): Promise<void> {
    const share = Math.ceil(SLOTS / this.nodes.length);
    for (const [index, node] of this.nodes.entries()) {
      await this.ask(node, 'CLUSTER', 'ADDSLOTSRANGE', index * share, Math.min(SLOTS, (index + 1) * share) - 1);
      const busPort = await this.ask(node, 'CONFIG', 'GET', 'cluster-port');
      for (const other of this.nodes)
        if (other !== node) await this.ask(other, 'CLUSTER', 'MEET', '127.0.0.1', node.port, busPort.split(',')[1] ?? '');
    }
    for (const deadline = Date.now() + LIMIT_MS; !(await this.#isWhole()); await sleep(100)) {
      if (Date.now() > deadline) throw new Error('The cluster does not come together.');
    }
  }

  async #isWhole(): Promise<boolean> {
    const states = await Promise.all(this.nodes.map((node) => this.ask(node, 'CLUSTER', 'INFO')));
    return states.every(
      (state) =>
        state.includes('cluster_state:ok') &&
        state.includes(`cluster_slots_ok:${SLOTS}`) &&
        state.includes(`cluster_size:${this.nodes.length}`),
    );
  }
}
