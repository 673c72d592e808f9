/** Memory stores with one bug planted in each, of the kinds that adapters have been seen with. */
import { setImmediate as turn } from 'node:timers/promises';
import { memoryArtifacts } from '../../adapters/memory/index.js';
import type { Artifact, ArtifactKey, ArtifactStore, ArtifactWrite, Put } from '../../lib/store/artifact-store.js';

const mapPuts = (writes: readonly ArtifactWrite[], change: (put: Put) => Put): readonly ArtifactWrite[] =>
  writes.map((write) => (write.op === 'put' ? change(write) : write));

const unconditional = ({ if: _, ...put }: Put): Put => put;

export function removesNothing(): ArtifactStore {
  const store = memoryArtifacts();
  return { ...store, commit: (writes) => store.commit(writes.filter(({ op }) => op === 'put')) };
}

export function ignoresConditions(): ArtifactStore {
  const store = memoryArtifacts();
  return { ...store, commit: (writes) => store.commit(mapPuts(writes, unconditional)) };
}

/** Read, compare, then write. */
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

/** Leaves expiry to a sweep that comes a minute later. */
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

export function leavesNoTombstones(): ArtifactStore {
  const store = memoryArtifacts();
  return {
    ...store,
    commit: (writes) => store.commit(writes.map((write) => (write.op === 'remove' ? { ...write, until: 0 } : write))),
  };
}

/** The last writer of a session wins. */
export function ignoresVersions(): ArtifactStore {
  const store = memoryArtifacts();
  return {
    ...store,
    commit: (writes) => store.commit(mapPuts(writes, (put) => (typeof put.if === 'object' ? unconditional(put) : put))),
  };
}

/** Writes one after the other, until one loses. */
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

/** Counts by reading and writing. */
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
