import type { Artifact, ArtifactKey, ArtifactStore, Put } from '../../lib/store/artifact-store.js';
import { createCounters } from './counters.js';
import { createLeases } from './leases.js';
import { startSweep } from './sweep.js';

/** A record until it expires, or (without one) the tombstone of a removed record until it ends. */
interface Entry {
  readonly artifact: Artifact | undefined;
  readonly until: number;
}

/**
 * An artifact store in memory. Each call does its work in one synchronous step, so nothing comes between a condition and its write.
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
  const entries = new Map<ArtifactKey, Entry>();
  const keysByAccount = new Map<string, Set<ArtifactKey>>();
  const counters = createCounters();
  const leases = createLeases();

  const live = (key: ArtifactKey, now: number): Artifact | undefined => {
    const entry = entries.get(key);
    return entry !== undefined && entry.until > now ? entry.artifact : undefined;
  };

  const holds = (put: Put, now: number): boolean => {
    const entry = entries.get(put.key);
    const current = entry !== undefined && entry.until > now ? entry : undefined;
    if (current !== undefined && current.artifact === undefined) return false;
    if (put.if === undefined) return true;
    if (put.if === 'absent') return current === undefined;
    if (put.if === 'unconsumed') return current !== undefined && current.artifact?.consumedAt === undefined;
    return current?.artifact?.version === put.if.version;
  };

  const set = (key: ArtifactKey, entry: Entry | undefined): void => {
    const before = entries.get(key)?.artifact?.account;
    if (entry === undefined) entries.delete(key);
    else entries.set(key, entry);
    const after = entry?.artifact?.account;
    if (before === after) return;
    if (before !== undefined) {
      const keys = keysByAccount.get(before);
      keys?.delete(key);
      if (keys?.size === 0) keysByAccount.delete(before);
    }
    if (after !== undefined) {
      const keys = keysByAccount.get(after);
      if (keys === undefined) keysByAccount.set(after, new Set([key]));
      else keys.add(key);
    }
  };

  const writeTombstone = (key: ArtifactKey, until: number): void => {
    const entry = entries.get(key);
    const tombstone = entry !== undefined && entry.artifact === undefined ? entry.until : 0;
    set(key, { artifact: undefined, until: Math.max(until, tombstone) });
  };

  const stopSweep = startSweep([{ entries, drop: (key: ArtifactKey) => set(key, undefined) }, counters.expiring, leases.expiring]);

  return {
    name: 'memory',
    ephemeral: true,

    async open() {},

    async read(requests) {
      const now = Date.now();
      const found = new Map<ArtifactKey, Artifact>();
      for (const { key, follow } of requests) {
        const artifact = live(key, now);
        if (artifact === undefined) continue;
        found.set(key, artifact);
        if (follow === undefined || artifact.links === undefined) continue;
        for (const name of follow) {
          const linked = Object.hasOwn(artifact.links, name) ? live(artifact.links[name]!, now) : undefined;
          if (linked !== undefined) found.set(linked.key, linked);
        }
      }
      return found;
    },

    async commit(writes) {
      if (writes.length > 1 && new Set(writes.map(({ key }) => key)).size < writes.length) {
        throw new TypeError('A key occurs twice in one commit.');
      }
      const now = Date.now();
      for (const write of writes) {
        if (write.op === 'put' && !holds(write, now)) return { ok: false, lost: write.key };
      }
      for (const write of writes) {
        if (write.op === 'remove') writeTombstone(write.key, write.until);
        else {
          const version = (live(write.key, now)?.version ?? 0) + 1;
          set(write.key, { artifact: frozenArtifact(write, version), until: write.expiresAt });
        }
      }
      return { ok: true };
    },

    async listByAccount(account) {
      const now = Date.now();
      const found: Artifact[] = [];
      for (const key of keysByAccount.get(account) ?? []) {
        const artifact = live(key, now);
        if (artifact !== undefined) found.push(artifact);
      }
      return found;
    },

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
