import { hash } from 'node:crypto';
import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import type { Connection } from './connection.js';
import { defineScript } from './script.js';

/** Script that takes, renews or ends a lease by the server's clock, which all holders share. */
export const leaseScript = defineScript(`
-- KEYS: the lease, kept as its holder. ARGV: who asks; for how long, 0 to give it back.
local holder = redis.call('GET', KEYS[1])
if ARGV[2] == '0' then
  if holder ~= ARGV[1] then return 0 end
  return redis.call('DEL', KEYS[1])
end
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`);

/** Creates leases for the services that share this store. */
export function createLeases(connection: Connection, prefix: string): Pick<ArtifactStore, 'lease'> {
  return {
    async lease(name, holder, ttl) {
      const key = `${prefix}lease:${hash('sha256', name, 'base64url').slice(0, 24)}`;
      return Number(await connection.run(leaseScript, 1, [key, holder, `${Math.max(0, Math.ceil(ttl))}`])) === 1;
    },
  };
}
