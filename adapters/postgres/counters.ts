import type { ArtifactStore, Counter } from '../../lib/store/artifact-store.js';
import { NOW } from './artifact-row.js';
import { BOUND, IN_TIME } from './connection.js';
import type { Database } from './database.js';
import { CHURN, type Table } from './tables.js';

export const counterTable: Table = {
  name: 'counters',
  columns: 'key text collate "C" primary key, hits bigint not null, ends_at bigint not null',
  storage: CHURN,
  indexes: { expiry: '(ends_at)' },
};

interface CounterRow {
  readonly hits: string;
  readonly ends_at: string;
}

/** Creates the method `hit`, which counts within fixed windows. */
export function createCounters({ connection, names }: Database): Pick<ArtifactStore, 'hit'> {
  const counters = names.at('counters');
  const moment = `moment as materialized (select ${NOW} as now from bound)`;
  // All comparisons use one instant: the end of the new window (`excluded.ends_at`) minus the length of this window (`$4`).
  const isRunning = 'c.ends_at > excluded.ends_at - $4::text::bigint';
  const add = `with ${BOUND}, ${moment}
    insert into ${counters} as c (key, hits, ends_at) select $2::text, $3::text::bigint, now + $4::text::bigint from moment
    on conflict (key) do update set
      hits = case when ${isRunning} then c.hits else 0 end + excluded.hits,
      ends_at = case when ${isRunning} then c.ends_at else excluded.ends_at end
    returning hits::text, ends_at::text, ${IN_TIME}`;
  const giveBack = `with ${BOUND}, ${moment},
    counted as (
      update ${counters} c set hits = greatest(0, c.hits + $3::text::bigint) from moment where c.key = $2::text and c.ends_at > moment.now
      returning c.hits, c.ends_at
    )
    select coalesce(hits, 0)::text as hits, coalesce(ends_at, now)::text as ends_at, ${IN_TIME} from moment left join counted on true`;
  const look = `with moment as materialized (select ${NOW} as now)
    select coalesce(hits, 0)::text as hits, coalesce(ends_at, now)::text as ends_at
    from moment left join ${counters} on key = $1::text and ends_at > now`;

  return {
    async hit(counter, window, by = 1) {
      if (by === 0) return counterOf(await connection.read<CounterRow>(look, [counter]));
      if (by < 0) return counterOf(await connection.write<CounterRow>(giveBack, [counter, `${by}`]));
      return counterOf(await connection.write<CounterRow>(add, [counter, `${by}`, `${Math.ceil(window)}`]));
    },
  };
}

const counterOf = ([row]: readonly CounterRow[]): Counter => ({ count: Number(row!.hits), resetsAt: Number(row!.ends_at) });
