import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import type { Connection } from './connection.js';
import { defineScript } from './script.js';

/** Script that counts by the server's clock, so that nodes with different clocks share one window. */
export const hitScript = defineScript(`
-- KEYS: the counter, kept as "count,end". ARGV: how long a window is; by how much.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local by = tonumber(ARGV[2])
local count, ends = 0, now
local counter = redis.call('GET', KEYS[1])
if counter then
  count, ends = string.match(counter, '^(%d+),(%d+)$')
  ends = tonumber(ends)
end
if ends <= now then
  if by <= 0 then return { 0, now } end
  count, ends = 0, now + tonumber(ARGV[1])
end
if by ~= 0 then
  count = math.max(0, count + by)
  redis.call('SET', KEYS[1], count .. ',' .. ends, 'PXAT', ends)
end
return { tonumber(count), ends }
`);

/** Creates counters over fixed windows. */
export function createCounters(connection: Connection, prefix: string): Pick<ArtifactStore, 'hit'> {
  return {
    async hit(counter, window, by = 1) {
      const [count, resetsAt] = (await connection.run(hitScript, 1, [`${prefix}count:${counter}`, `${Math.ceil(window)}`, `${by}`])) as [
        number,
        number,
      ];
      return { count: Number(count), resetsAt: Number(resetsAt) };
    },
  };
}
