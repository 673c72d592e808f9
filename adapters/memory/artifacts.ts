import type { Artifact, ArtifactKey, ArtifactStore, Put } from '../../lib/store/artifact-store.js';
import { createCounters } from './counters.js';
import { createLeases } from './leases.js';
import { startSweep } from './sweep.js';

/** A record until it expires, or the tombstone of a removed record, which has no `artifact`. */
interface Entry {
  readonly artifact: Artifact | undefined;
  readonly until: number;
}

/** Records by key and by account. */
class Records {
  readonly entries = new Map<ArtifactKey, Entry>();
  readonly #keysByAccount = new Map<string, Set<ArtifactKey>>();

  /** Returns the record of the key, unless it has expired or was removed. */
  live(key: ArtifactKey, now: number): Artifact | undefined {
    const entry = this.entries.get(key);
    return entry !== undefined && entry.until > now ? entry.artifact : undefined;
  }

  ofAccount(account: string, now: number): Artifact[] {
    return [...(this.#keysByAccount.get(account) ?? [])].flatMap((key) => this.live(key, now) ?? []);
  }

  /** Returns whether the condition of a write is met. */
  holds(put: Put, now: number): boolean {
    const entry = this.entries.get(put.key);
    const current = entry !== undefined && entry.until > now ? entry : undefined;
    if (current !== undefined && current.artifact === undefined) return false;
    if (put.if === undefined) return true;
    if (put.if === 'absent') return current === undefined;
    if (put.if === 'unconsumed') return current !== undefined && current.artifact?.consumedAt === undefined;
    return current?.artifact?.version === put.if.version;
  }

  put(write: Put, now: number): void {
    const version = (this.live(write.key, now)?.version ?? 0) + 1;
    this.#set(write.key, { artifact: frozenArtifact(write, version), until: write.expiresAt });
  }

  /** Leaves a tombstone. If there is a tombstone, the new tombstone ends no earlier. */
  remove(key: ArtifactKey, until: number): void {
    const entry = this.entries.get(key);
    const tombstoneUntil = entry !== undefined && entry.artifact === undefined ? entry.until : 0;
    this.#set(key, { artifact: undefined, until: Math.max(until, tombstoneUntil) });
  }

  drop(key: ArtifactKey): void {
    this.#set(key, undefined);
  }

  #set(key: ArtifactKey, entry: Entry | undefined): void {
    const before = this.entries.get(key)?.artifact?.account;
    if (entry === undefined) this.entries.delete(key);
    else this.entries.set(key, entry);
    const after = entry?.artifact?.account;
    if (before === after) return;
    if (before !== undefined) {
      const keys = this.#keysByAccount.get(before);
      keys?.delete(key);
      if (keys?.size === 0) this.#keysByAccount.delete(before);
    }
    if (after !== undefined) {
      const keys = this.#keysByAccount.get(after);
      if (keys === undefined) this.#keysByAccount.set(after, new Set([key]));
      else keys.add(key);
    }
  }
}

/**
 * Creates an artifact store in memory. Each call does its work in one synchronous step, so that no other call comes between a condition and its write.
 * @example
 * ```ts
 * import { createIdentityProvider } from 'tenant-idp';
 * import { memoryArtifacts } from 'tenant-idp/adapters/memory';
 *
 * const idp = await createIdentityProvider({ issuer: 'http://localhost:3000', artifacts: memoryArtifacts() });
 * await idp.listen(3000);
 * ```
 */
export function memoryArtifacts(): ArtifactStore {
  const records = new Records();
  const counters = createCounters();
  const leases = createLeases();
  const { entries } = records;
  const stopSweep = startSweep([{ entries, drop: (key: ArtifactKey) => records.drop(key) }, counters.expiring, leases.expiring]);

  return {
    name: 'memory',
    ephemeral: true,

    async open() {},

    async read(requests) {
      const now = Date.now();
      const artifacts = new Map<ArtifactKey, Artifact>();
      for (const { key, follow } of requests) {
        const artifact = records.live(key, now);
        if (artifact === undefined) continue;
        artifacts.set(key, artifact);
        if (follow === undefined || artifact.links === undefined) continue;
        for (const name of follow) {
          const linked = Object.hasOwn(artifact.links, name) ? records.live(artifact.links[name]!, now) : undefined;
          if (linked !== undefined) artifacts.set(linked.key, linked);
        }
      }
      return artifacts;
    },

    async commit(writes) {
      if (writes.length > 1 && new Set(writes.map(({ key }) => key)).size < writes.length) {
        throw new TypeError('A key occurs twice in one commit. Write each key once.');
      }
      const now = Date.now();
      for (const write of writes) {
        if (write.op === 'put' && !records.holds(write, now)) return { ok: false, lost: write.key };
      }
      for (const write of writes) {
        if (write.op === 'remove') records.remove(write.key, write.until);
        else records.put(write, now);
      }
      return { ok: true };
    },

    listByAccount: async (account) => records.ofAccount(account, Date.now()),
    hit: counters.hit,
    lease: leases.lease,
    async health() {},
    async close() {
      stopSweep();
    },
  };
}

function frozenArtifact({ key, value, expiresAt, consumedAt, account, links }: Put, version: number): Artifact {
  const artifact: { -readonly [Field in keyof Artifact]: Artifact[Field] } = { key, value, version, expiresAt };
  if (consumedAt !== undefined) artifact.consumedAt = consumedAt;
  if (account !== undefined) artifact.account = account;
  if (links !== undefined) artifact.links = Object.freeze({ ...links });
  return Object.freeze(artifact);
}
