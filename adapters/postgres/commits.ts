import { setTimeout as sleep } from 'node:timers/promises';
import { IdpError } from '../../lib/errors.js';
import type { ArtifactStore, ArtifactWrite, CommitResult, Put } from '../../lib/store/artifact-store.js';
import { storableText } from '../sql/storable-text.js';
import { arrayText, NOW } from './artifact-row.js';
import { BOUND, type Call, IN_TIME } from './connection.js';
import type { Database } from './database.js';

/** Maximum milliseconds between two attempts to make a commit. */
const PAUSE_MS = 10;

/**
 * Returns the statement that does all writes or none. The answer is the position of the first write whose condition is not met:
 * - `held` locks the existing records in the order of their store keys, so that two commits cannot wait for each other. After a wait for another commit,
 * `held` has the record as the other commit wrote it.
 * - `judged` compares each record with the condition of its write. All comparisons use one instant after the last wait.
 * - `made` inserts the records that did not exist. If another commit inserted one of these records concurrently, the primary key refuses the insert, and
 * nothing is written.
 * - `changed` updates the existing records. The update waits for no lock, because `held` has locked these records.
 */
const statementFor = (artifacts: string): string => `with ${BOUND},
  given as materialized (
    select w.* from bound, unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
      with ordinality as w(key, condition, value, expires_at, consumed_at, account, link_names, link_keys, place)
  ),
  held as materialized (
    select a.key, a.version, a.expires_at, a.consumed_at, a.is_removed from ${artifacts} a
    where a.key = any($2::text[]) and (select true from bound) order by a.key for update
  ),
  moment as materialized (select ${NOW} as now from bound, (select count(*) from held) as locked),
  judged as materialized (
    select g.*, h.key is null as is_new, state.is_live,
      case g.condition
        when 'remove' then 0
        else case when state.is_live then h.version else 0 end + 1
      end as version,
      case g.condition
        when 'remove' then greatest(g.expires_at::bigint, case when h.is_removed then h.expires_at end)
        else g.expires_at::bigint
      end as ends_at,
      case
        when g.condition = 'remove' then true
        when state.is_buried then false
        when g.condition = '' then true
        when g.condition = 'absent' then not state.is_live
        when g.condition = 'unconsumed' then state.is_live and h.consumed_at is null
        else state.is_live and h.version::text = g.condition
      end as holds
    from moment cross join given g left join held h on h.key = g.key
      cross join lateral (
        select coalesce(h.expires_at > moment.now and not h.is_removed, false) as is_live,
          coalesce(h.expires_at > moment.now and h.is_removed, false) as is_buried
      ) as state
  ),
  verdict as materialized (select (select min(place) from judged where not holds) as lost from moment),
  made as (
    insert into ${artifacts} (key, value, version, expires_at, consumed_at, account, link_names, link_keys, is_removed)
    select key, value, version, ends_at, consumed_at::bigint, account, link_names::text[], link_keys::text[], condition = 'remove'
    from judged, verdict where lost is null and is_new order by key
    returning true
  ),
  changed as (
    update ${artifacts} a set value = j.value, version = j.version, expires_at = j.ends_at, consumed_at = j.consumed_at::bigint,
      account = j.account, link_names = j.link_names::text[], link_keys = j.link_keys::text[], is_removed = j.condition = 'remove'
    from judged j, verdict where lost is null and not j.is_new and a.key = j.key
  )
  select lost::text as lost, ${IN_TIME}
  from verdict, (select count(*) from made) as waited`;

const done: CommitResult = { ok: true };

/** Creates the method `commit`, which sends one statement for any number of writes. */
export function createCommits({ connection, names }: Database): Pick<ArtifactStore, 'commit'> {
  const statement = statementFor(names.at('artifacts'));
  return {
    async commit(writes) {
      if (new Set(writes.map(({ key }) => key)).size < writes.length)
        throw new TypeError('A key occurs twice in one commit. Write each key once.');
      if (writes.length === 0) return done;
      const lost = await connection.run((call) => attempts(call, statement, parametersOf(writes)));
      return lost === null ? done : { ok: false, lost: writes[Number(lost) - 1]!.key };
    },
  };
}

/**
 * Sends the statement, and repeats the statement if another commit inserts a record concurrently.
 * @returns the position of the first write whose condition is not met, from 1; null if all writes are done
 */
async function attempts(call: Call, statement: string, values: readonly unknown[]): Promise<string | null> {
  for (;;) {
    try {
      const [answer] = await call.write<{ readonly lost: string | null }>(statement, values);
      return answer!.lost;
    } catch (error) {
      // Another commit inserted a record that did not exist when the statement began.
      if (!(error instanceof IdpError && error.code === 'conflict')) throw error;
    }
    await sleep(Math.random() * PAUSE_MS);
  }
}

/** Returns a parameter for each column of `given`. */
function parametersOf(writes: readonly ArtifactWrite[]): readonly unknown[] {
  const column = <T>(ofPut: (put: Put) => T | undefined): (T | null)[] =>
    writes.map((write) => (write.op === 'put' ? (ofPut(write) ?? null) : null));
  return [
    writes.map(({ key }) => key),
    writes.map(conditionOf),
    writes.map((write) => (write.op === 'put' ? storableText(write.value) : '')),
    writes.map((write) => `${write.op === 'put' ? write.expiresAt : write.until}`),
    column(({ consumedAt }) => consumedAt?.toString()),
    column(({ account }) => account && storableText(account)),
    column(({ links }) => links && arrayText(Object.keys(links))),
    column(({ links }) => links && arrayText(Object.values(links))),
  ];
}

function conditionOf(write: ArtifactWrite): string {
  if (write.op === 'remove') return 'remove';
  return typeof write.if === 'object' ? `${write.if.version}` : (write.if ?? '');
}
