import { RedisServer } from '../../test/support/stores/redis-server.js';

/** Starts a Redis server that ends with the bench. */
export async function startRedisServer(): Promise<RedisServer> {
  const server = await RedisServer.start();
  process.once('exit', () => void server.kill());
  return server;
}
