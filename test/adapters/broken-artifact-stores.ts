/** Memory stores with one planted bug each, of the kinds that adapters have had. */
import { setImmediate as turn } from 'node:timers/promises';
import { memoryArtifacts } from '../../adapters/memory/index.js';
import type { Artifact, ArtifactKey, ArtifactStore, ArtifactWrite, Put } from '../../lib/store/artifact-store.js';

const mapPuts = (writes: readonly ArtifactWrite[], change: (put: Put) => Put): readonly ArtifactWrite[] =>
  writes.map((write) => (write.op === 'put' ? change(write) : write));

const unconditional = ({ if: _, ...put }: Put): Put => put;

/** Returns a store whose revoke does nothing. */
export function removesNothing(): ArtifactStore {
  const store = memoryArtifacts();
  return { ...store, commit: (writes) => store.commit(writes.filter(({ op }) => op === 'put')) };
}

/** Returns a store that ignores a condition. */
export const ignores = (condition: 'absent' | 'unconsumed') => (): ArtifactStore => {
  const store = memoryArtifacts();
  return { ...store, commit: (writes) => store.commit(mapPuts(writes, (put) => (put.if === condition ? unconditional(put) : put))) };
};

/** Returns a store with a non-atomic condition: read, compare, then write. */
export function checksBeforeItWrites(): ArtifactStore {
  const store = memoryArtifacts();
  const holds = (condition: Put['if'], current: Artifact | undefined): boolean => {
    if (condition === undefined) return true;
    if (condition === 'absent') return current === undefined;
    if (condition === 'unconsumed') return current !== undefined && current.consumedAt === undefined;
    return current?.version === condition.version;
  };
  return {
    ...store,
    async commit(writes) {
      const current = await store.read(writes);
      await turn();
      const lost = writes.find((write) => write.op === 'put' && !holds(write.if, current.get(write.key)));
      return lost === undefined ? store.commit(mapPuts(writes, unconditional)) : { ok: false, lost: lost.key };
    },
  };
}

/** Returns a store with TTL-only expiry: expired records stay until a sweep, a minute later. */
export function leavesExpiryToTheSweep(): ArtifactStore {
  const store = memoryArtifacts();
  const lag = 60_000;
  const punctual = (artifact: Artifact): Artifact => ({ ...artifact, expiresAt: artifact.expiresAt - lag });
  return {
    ...store,
    commit: (writes) => store.commit(mapPuts(writes, (put) => ({ ...put, expiresAt: put.expiresAt + lag }))),
    async read(requests) {
      const found = await store.read(requests);
      return new Map([...found].map(([key, artifact]): [ArtifactKey, Artifact] => [key, punctual(artifact)]));
    },
    listByAccount: async (account) => (await store.listByAccount(account)).map(punctual),
  };
}

/** Returns a store in which a session can be resurrected after destroy. */
export function leavesNoTombstones(): ArtifactStore {
  const store = memoryArtifacts();
  return {
    ...store,
    commit: (writes) => store.commit(writes.map((write) => (write.op === 'remove' ? { ...write, until: 0 } : write))),
  };
}

/** Returns a store that loses the merge of two sessions' grants: the last writer of a version wins. */
export function ignoresVersions(): ArtifactStore {
  const store = memoryArtifacts();
  return {
    ...store,
    commit: (writes) => store.commit(mapPuts(writes, (put) => (typeof put.if === 'object' ? unconditional(put) : put))),
  };
}

/** Returns a store that loses concurrent merges only: it compares the version that it read, then overwrites the current record. */
export function overwritesAtOnce(): ArtifactStore {
  const store = memoryArtifacts();
  return {
    ...store,
    async commit(writes) {
      const current = await store.read(writes);
      await turn();
      const stale = writes.find(
        (write) => write.op === 'put' && typeof write.if === 'object' && current.get(write.key)?.version !== write.if.version,
      );
      if (stale) return { ok: false, lost: stale.key };
      return store.commit(mapPuts(writes, (put) => (typeof put.if === 'object' ? unconditional(put) : put)));
    },
  };
}

/** Returns a store that writes one record after the other, until one loses. */
export function commitsHalf(): ArtifactStore {
  const store = memoryArtifacts();
  return {
    ...store,
    async commit(writes) {
      for (const write of writes) {
        const result = await store.commit([write]);
        if (!result.ok) return result;
      }
      return { ok: true };
    },
  };
}

/** Returns a store whose list of an account still shows revoked records. */
export function listsWhatIsGone(): ArtifactStore {
  const store = memoryArtifacts();
  const listed = new Map<ArtifactKey, Artifact>();
  return {
    ...store,
    async commit(writes) {
      const result = await store.commit(writes);
      for (const write of writes) if (result.ok && write.op === 'put' && write.account) listed.set(write.key, { ...write, version: 1 });
      return result;
    },
    async listByAccount(account) {
      return [...listed.values()].filter((artifact) => artifact.account === account);
    },
  };
}

/** Returns a store that reads only the first hundred keys. */
export function readsSome(): ArtifactStore {
  const store = memoryArtifacts();
  return { ...store, read: (requests) => store.read(requests.slice(0, 100)) };
}

/** Returns two instances over one store, each with its own counters. */
export function countsForItself(): { store: ArtifactStore; peer: ArtifactStore } {
  const [store, other] = [memoryArtifacts(), memoryArtifacts()];
  return { store, peer: { ...store, hit: (...call) => other.hit(...call) } };
}

/** Returns a store that counts by reading and writing. */
export function miscounts(): ArtifactStore {
  const store = memoryArtifacts();
  const counts = new Map<ArtifactKey, number>();
  return {
    ...store,
    async hit(counter, window, by = 1) {
      const count = Math.max(0, (counts.get(counter) ?? 0) + by);
      const { resetsAt } = await store.hit(counter, window, by);
      counts.set(counter, count);
      return { count, resetsAt };
    },
  };
}
