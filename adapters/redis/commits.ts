import type { ArtifactKey, ArtifactStore, ArtifactWrite, CommitResult, Put } from '../../lib/store/artifact-store.js';
import { type AccountIndex, indexByAccount } from './account-index.js';
import type { Connection } from './connection.js';
import { bodyOf, tombstoneBody } from './record.js';
import { defineScript } from './script.js';

/**
 * Script that makes all writes or none. The script checks every condition first, and then writes. A server without memory refuses the first write of a
 * script, or no write.
 */
export const commitScript = defineScript(`${indexByAccount}
-- Version of a live record and when it was spent, or when a tombstone ends.
local function look(key, now)
  local record = redis.call('GET', key)
  if not record then return end
  local version, ends, spent = string.match(record, '^(%d+),(%w+),?(%w*)')
  ends = tonumber(ends, 36)
  if ends <= now then return end
  if version == '0' then return nil, nil, ends end
  return version, spent
end

local function holds(condition, version, spent)
  if condition == '' then return true end
  if condition == 'absent' then return not version end
  if condition == 'unconsumed' then return version and spent == '' end
  return condition == version
end

-- KEYS: the records, then an index for each record that is listed by account.
-- ARGV: now; how many records; of each record condition, end and body; for each index the place of its record among the KEYS.
-- Answers the place of the first write that lost, or 0.
local now = tonumber(ARGV[1])
local count = tonumber(ARGV[2])
local versions = {}
for i = 1, count do
  local condition = ARGV[i * 3]
  local version, spent, buried = look(KEYS[i], now)
  if condition == 'remove' then
    if not buried or buried < tonumber(ARGV[i * 3 + 1]) then versions[i] = 0 end
  else
    if buried or not holds(condition, version, spent) then return i end
    versions[i] = (version or 0) + 1
  end
end
for i = 1, count do
  if versions[i] then redis.call('SET', KEYS[i], versions[i] .. ',' .. ARGV[i * 3 + 2], 'PXAT', ARGV[i * 3 + 1]) end
end
for i = count + 1, #KEYS do
  local record = tonumber(ARGV[2 + count * 2 + i])
  indexByAccount(KEYS[i], KEYS[record], ARGV[record * 3 + 1], ARGV[1])
end
return 0
`);

const done: CommitResult = { ok: true };

/**
 * Runs one script for all writes. In a Cluster, one script runs for each slot, one after another. Slots whose writes have conditions come first. If a
 * script loses, or the store becomes unavailable, the slots before this script stay written.
 */
export function createCommits(
  connection: Connection,
  prefix: string,
  accounts: AccountIndex,
  now: () => number,
): Pick<ArtifactStore, 'commit'> {
  async function commitTogether(writes: readonly ArtifactWrite[]): Promise<CommitResult> {
    refuseDoubles(writes);
    if (writes.length === 0) return done;
    const keys: string[] = [];
    const indexes: string[] = [];
    const parameters = [`${now()}`, `${writes.length}`];
    const places: string[] = [];
    for (const write of writes) {
      keys.push(prefix + write.key);
      if (write.op === 'remove') {
        parameters.push('remove', `${write.until}`, tombstoneBody(write.until));
        continue;
      }
      parameters.push(conditionOf(write), `${write.expiresAt}`, bodyOf(write));
      if (write.account === undefined || connection.isCluster) continue;
      indexes.push(accounts.keyOf(write.account));
      places.push(`${keys.length}`);
    }
    const count = keys.length + indexes.length;
    const lost = writes[Number(await connection.run(commitScript, count, keys.concat(indexes, parameters, places))) - 1];
    return lost === undefined ? done : { ok: false, lost: lost.key };
  }

  /**
   * Commits the writes of one slot. The account index is in another slot. The index is written before the record is acknowledged, so the index has every
   * acknowledged record.
   */
  async function commitSlot(writes: readonly ArtifactWrite[]): Promise<CommitResult> {
    const [result] = await Promise.all([commitTogether(writes), accounts.add(writes.filter(isPut))]);
    return result;
  }

  async function commitSlots(writes: readonly ArtifactWrite[]): Promise<CommitResult> {
    refuseDoubles(writes);
    const byKey = new Map(writes.map((write) => [write.key, write]));
    const slots = connection.together([...byKey.keys()]).map((keys) => keys.map((key) => byKey.get(key) as ArtifactWrite));
    for (const slot of slots.sort((a, b) => Number(b.some(isConditional)) - Number(a.some(isConditional)))) {
      const result = await commitSlot(slot);
      if (!result.ok) return result;
    }
    return done;
  }

  const commitAll = (writes: readonly ArtifactWrite[]): Promise<CommitResult> =>
    connection.isCluster ? commitSlots(writes) : commitTogether(writes);

  async function commitNew(write: Put): Promise<CommitResult> {
    const answer = await connection.setNew(prefix + write.key, `1,${bodyOf(write)}`, write.expiresAt);
    return answer === null ? commitAll([write]) : done;
  }

  return {
    commit(writes) {
      const [first] = writes;
      return first && writes.length === 1 && isNew(first) ? commitNew(first) : commitAll(writes);
    },
  };
}

const isPut = (write: ArtifactWrite): write is Put => write.op === 'put';

/** Returns whether the write puts a new record. A new record needs no script, because a plain SET is enough. */
const isNew = (write: ArtifactWrite): write is Put =>
  write.op === 'put' && write.account === undefined && (write.if === undefined || write.if === 'absent');

const isConditional = (write: ArtifactWrite): boolean => write.op === 'put' && write.if !== undefined;

const conditionOf = ({ if: condition }: Put): string => (typeof condition === 'object' ? `${condition.version}` : (condition ?? ''));

function refuseDoubles(writes: readonly ArtifactWrite[]): void {
  if (writes.length < 2) return;
  const keys = new Set<ArtifactKey>();
  for (const { key } of writes) keys.add(key);
  if (keys.size < writes.length) throw new TypeError('A key occurs twice in one commit. Write each key once.');
}
