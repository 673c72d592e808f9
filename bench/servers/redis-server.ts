import { RedisServer } from '../../test/support/stores/redis-server.js';

/** A Redis server of the bench's own, which ends with it at the latest. */
export async function startRedisServer(): Promise<RedisServer> {
  const server = await RedisServer.start();
  process.once('exit', () => void server.kill());
  return server;
}
