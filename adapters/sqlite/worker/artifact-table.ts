import { present } from '../../../lib/present.js';
import type { Artifact, ArtifactKey, ArtifactWrite, CommitResult, Put, ReadRequest, Remove } from '../../../lib/store/artifact-store.js';
import { originalText, storableText } from '../../sql/storable-text.js';
import type { Database } from './database.js';
import type { Columns, Statement } from './node-sqlite.js';

/**
 * Table of the artifacts. Until a row expires, the row is a record, or the tombstone of a removed record. A tombstone has no value. Times are milliseconds
 * since the epoch.
 */
const schema = `
create table if not exists idp_artifacts (
  key text not null primary key,
  value text,
  version integer not null,
  expires_at integer not null,
  consumed_at integer,
  account text,
  links text
) strict;
create index if not exists idp_artifacts_expiry on idp_artifacts (expires_at);
create index if not exists idp_artifacts_account on idp_artifacts (account) where account is not null`;

export class ArtifactTable {
  readonly #find: Statement;
  readonly #ofAccount: Statement;
  readonly #write: Statement;

  constructor(database: Database) {
    database.exec(schema);
    this.#find = database.prepare('select * from idp_artifacts where key = ? and expires_at > ?');
    this.#ofAccount = database.prepare('select * from idp_artifacts where account = ? and expires_at > ?');
    this.#write = database.prepare('insert or replace into idp_artifacts values (?, ?, ?, ?, ?, ?, ?)');
  }

  read(requests: readonly ReadRequest[]): Artifact[] {
    const now = Date.now();
    return requests.flatMap(({ key, follow = [] }) => {
      const artifact = this.#live(key, now);
      if (artifact === undefined) return [];
      const { links = {} } = artifact;
      const linked = follow.flatMap((name) => (Object.hasOwn(links, name) ? (this.#live(links[name] as ArtifactKey, now) ?? []) : []));
      return [artifact, ...linked];
    });
  }

  listByAccount(account: string): Artifact[] {
    return this.#ofAccount.all(storableText(account), Date.now()).flatMap((found) => artifactOf(found) ?? []);
  }

  commit(writes: readonly ArtifactWrite[]): CommitResult {
    const now = Date.now();
    const current = writes.map(({ key }) => this.#find.get(key, now));
    const lost = writes.find((write, index) => !holds(write, current[index]));
    if (lost !== undefined) return { ok: false, lost: lost.key };
    for (const [index, write] of writes.entries()) {
      if (write.op === 'put') this.#put(write, Number(current[index]?.version ?? 0) + 1);
      else this.#remove(write, current[index]);
    }
    return { ok: true };
  }

  #live(key: ArtifactKey, now: number): Artifact | undefined {
    const found = this.#find.get(key, now);
    return found && artifactOf(found);
  }

  #put({ key, value, expiresAt, consumedAt, account, links }: Put, version: number): void {
    this.#write.run(
      key,
      storableText(value),
      version,
      Math.trunc(expiresAt),
      consumedAt === undefined ? null : Math.trunc(consumedAt),
      account === undefined ? null : storableText(account),
      links === undefined ? null : JSON.stringify(Object.entries(links)),
    );
  }

  /** Writes a tombstone. The tombstone expires no earlier than an existing tombstone of the record. */
  #remove({ key, until }: Remove, current: Columns | undefined): void {
    const end = isTombstone(current) ? Math.max(until, Number(current?.expires_at)) : until;
    this.#write.run(key, null, 0, Math.trunc(end), null, null, null);
  }
}

const isTombstone = (current: Columns | undefined): boolean => current !== undefined && current.value === null;

/**
 * Returns whether the current record meets the condition of a write.
 * @param current undefined if the record does not exist or has expired
 */
function holds(write: ArtifactWrite, current: Columns | undefined): boolean {
  if (write.op === 'remove') return true;
  if (isTombstone(current)) return false;
  if (write.if === undefined) return true;
  if (write.if === 'absent') return current === undefined;
  if (write.if === 'unconsumed') return current !== undefined && current.consumed_at === null;
  return current?.version === write.if.version;
}

/** Returns the record; undefined for a tombstone. */
function artifactOf({ key, value, version, expires_at, consumed_at, account, links }: Columns): Artifact | undefined {
  if (value === null) return undefined;
  return {
    key: key as ArtifactKey,
    value: originalText(value as string),
    version: version as number,
    expiresAt: expires_at as number,
    ...present({
      consumedAt: (consumed_at as number | null) ?? undefined,
      account: account === null ? undefined : originalText(account as string),
      links: links === null ? undefined : (Object.fromEntries(JSON.parse(links as string)) as Record<string, ArtifactKey>),
    }),
  };
}
