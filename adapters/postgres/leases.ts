import { hash } from 'node:crypto';
import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import { storableText } from '../sql/storable-text.js';
import { NOW } from './artifact-row.js';
import { BOUND, IN_TIME } from './connection.js';
import type { Database } from './database.js';
import { CHURN, type Table } from './tables.js';

export const leaseTable: Table = {
  name: 'leases',
  columns: 'name text collate "C" primary key, holder text collate "C" not null, expires_at bigint not null',
  storage: CHURN,
};

/** Maximum characters of a name that is not stored as a digest. An index entry of PostgreSQL has at most 2,704 bytes. */
const LONGEST_NAME = 200;

/** Returns the stored name of a lease. The digest of a long name begins with U+0001 and a space. No storable text begins with these characters. */
const nameOf = (name: string): string => (name.length > LONGEST_NAME ? `\u0001 ${hash('sha256', name, 'base64url')}` : storableText(name));

/**
 * Returns the common table expression `taken`, which takes or renews a lease. `taken` has a row if the holder then has the lease. The expiry is compared
 * with the instant of `moment`, which is before any wait for other holders. The lease is therefore never taken too early.
 */
export const takenLease = (leases: string, name: string, holder: string, ttl: string): string => `taken as (
  insert into ${leases} as l (name, holder, expires_at) select ${name}, ${holder}, now + ${ttl} from moment
  on conflict (name) do update set holder = excluded.holder, expires_at = excluded.expires_at
    where l.holder = excluded.holder or l.expires_at <= excluded.expires_at - ${ttl}
  returning true
)`;

/** Creates the method `lease`, for the services that share this store. */
export function createLeases({ connection, names }: Database): Pick<ArtifactStore, 'lease'> {
  const leases = names.at('leases');
  const begin = `with ${BOUND}, moment as materialized (select ${NOW} as now from bound)`;
  const take = `${begin}, ${takenLease(leases, '$2::text', '$3::text', '$4::text::bigint')}
    select held::text as held, ${IN_TIME} from moment, (select count(*) as held from taken) as waited`;
  const giveBack = `${begin},
    ended as (delete from ${leases} l using moment where l.name = $2::text and l.holder = $3::text and l.expires_at > now returning true)
    select held::text as held, ${IN_TIME} from moment, (select count(*) as held from ended) as waited`;

  return {
    async lease(name, holder, ttl) {
      const values = [nameOf(name), storableText(holder)];
      const [answer] = await (ttl > 0 ? connection.write(take, [...values, `${Math.ceil(ttl)}`]) : connection.write(giveBack, values));
      return answer?.held === '1';
    },
  };
}
