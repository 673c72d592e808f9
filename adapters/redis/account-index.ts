/**
 * The index of an account's records: a sorted set of the records' keys, by expiry. The index may name records that were removed or that belong to another
 * account now, because readers check the records themselves. Each addition removes expired members. The set expires with its last member.
 */
import { hash } from 'node:crypto';
import type { Artifact, ArtifactKey, ArtifactStore, Put } from '../../lib/store/artifact-store.js';
import type { Connection } from './connection.js';
import { decode, isTombstone } from './record.js';
import { defineScript } from './script.js';

/** Function of scripts that adds a record to the index. `GT` is used, because the later of two concurrent puts may expire first. */
export const indexByAccount = `
local function indexByAccount(index, record, ends, now)
  redis.call('ZREMRANGEBYSCORE', index, '-inf', now)
  redis.call('ZADD', index, 'GT', ends, record)
  redis.call('PEXPIREAT', index, redis.call('ZRANGE', index, -1, -1, 'WITHSCORES')[2])
end
`;

export const indexByAccountScript = defineScript(`${indexByAccount}
-- KEYS: the index. ARGV: now, then for each record its end and its key.
for i = 2, #ARGV, 2 do indexByAccount(KEYS[1], ARGV[i + 1], ARGV[i], ARGV[1]) end
return 0
`);

export interface AccountIndex extends Pick<ArtifactStore, 'listByAccount'> {
  keyOf(account: string): string;
  /** Adds puts to the index, for a Cluster, in which the index has its own slot. */
  add(puts: readonly Put[]): Promise<unknown>;
}

export function createAccountIndex(connection: Connection, prefix: string, now: () => number): AccountIndex {
  const keyOf = (account: string) => `${prefix}account:${hash('sha256', account, 'base64url').slice(0, 24)}`;

  async function readTogether(keys: readonly ArtifactKey[], index: string, account: string): Promise<Artifact[]> {
    const texts = await connection.mget(keys.map((key) => prefix + key));
    const instant = now();
    const records = keys.flatMap((key, place) => {
      const text = texts[place];
      const record = text ? decode(key, text, instant) : undefined;
      return record?.account === account ? [record] : [];
    });
    // Removes only expired members, because an absent record may still be written.
    const removed = keys.filter((_, place) => isTombstone(texts[place] ?? ''));
    if (removed.length > 0)
      await connection.removeMembers(
        index,
        removed.map((key) => prefix + key),
      );
    return records;
  }

  return {
    keyOf,
    add(puts) {
      const members = new Map<string, string[]>();
      for (const { account, expiresAt, key } of puts) {
        if (account === undefined) continue;
        const ofAccount = members.get(account) ?? [];
        members.set(account, [...ofAccount, `${expiresAt}`, prefix + key]);
      }
      const adding = [...members].map(([account, ends]) => connection.run(indexByAccountScript, 1, [keyOf(account), `${now()}`, ...ends]));
      return Promise.all(adding);
    },
    async listByAccount(account) {
      const index = keyOf(account);
      const members = await connection.membersAfter(index, now());
      const keys = members.map((member) => member.slice(prefix.length) as ArtifactKey);
      const groups = connection.together(keys);
      return (await Promise.all(groups.map((group) => readTogether(group, index, account)))).flat();
    },
  };
}
