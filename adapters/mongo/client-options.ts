import type { Db, MongoClientOptions } from 'mongodb';
import { IdpError } from '../../lib/errors.js';
import { inTime } from './deadline.js';

/**
 * Options of `MongoClient`, to spread into your own options. With these options, the driver polls the server every half second, and at no other time. By
 * default, a driver (7.9) that polls the server also polls immediately when a call fails. If a connection closes during that poll, the poll never ends. The
 * driver then never notices that the server is available again.
 */
export const mongoOptions = { heartbeatFrequencyMS: 500, minHeartbeatFrequencyMS: 1000 } as const satisfies MongoClientOptions;

/**
 * Refuses a client that may not reconnect to its server. If a server reports the version of its topology, the server notifies the driver itself, and the
 * client is accepted.
 * @throws IdpError `store_unfit`
 */
export async function checkClient(db: Db): Promise<void> {
  const { heartbeatFrequencyMS, minHeartbeatFrequencyMS, serverMonitoringMode } = db.client.options;
  if (minHeartbeatFrequencyMS > heartbeatFrequencyMS) return;
  const { topologyVersion } = await inTime((bounds) => db.command({ hello: 1 }, bounds));
  if (topologyVersion !== undefined && serverMonitoringMode !== 'poll') return;
  throw new IdpError('store_unfit', {
    store: 'mongo',
    setting: 'minHeartbeatFrequencyMS',
    found: minHeartbeatFrequencyMS,
    expected: `more than heartbeatFrequencyMS (${heartbeatFrequencyMS}), as in mongoOptions`,
  });
}
