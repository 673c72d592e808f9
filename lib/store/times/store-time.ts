import type { Logger } from '../../logger.js';
import type { Artifact, ArtifactStore, ArtifactWrite } from '../artifact-store.js';
import { createStoreClock } from './clock.js';

export interface StoreInTime {
  readonly store: ArtifactStore;
  /** Returns the time that all nodes share, in milliseconds since the epoch. The writes of different nodes are ordered by this time. */
  readonly now: () => number;
}

/** Returns a store in this process, whose time is the clock of the process. */
export const inOwnTime = (store: ArtifactStore): StoreInTime => ({ store, now: () => Date.now() });

/**
 * Returns an artifact store whose records carry the store's time, whatever the node's clock shows. Instants are converted in both
 * directions. While the clocks agree, records pass unchanged. A store without a clock is returned unchanged.
 * @throws UnavailableError `clock_skewed` from the calls that read or write records.
 */
export function inStoreTime(store: ArtifactStore, logger: Logger): StoreInTime {
  const { name, ephemeral } = store;
  if (!store.time) return inOwnTime(store);
  const time = () => (store.time as NonNullable<typeof store.time>)();
  const clock = createStoreClock(name, time, logger);
  const timed: ArtifactStore = {
    name,
    ephemeral,
    time,
    async open() {
      await store.open(clock.now);
      await clock.start();
    },
    read(requests) {
      const ahead = clock.ahead();
      const reading = store.read(requests);
      return ahead === 0 ? reading : reading.then((artifacts) => inLocalTime(artifacts, ahead));
    },
    commit(writes) {
      const ahead = clock.ahead();
      return store.commit(ahead === 0 ? writes : writes.map((write) => movedWrite(write, -ahead)));
    },
    async listByAccount(account) {
      const ahead = clock.ahead();
      const artifacts = await store.listByAccount(account);
      return ahead === 0 ? artifacts : artifacts.map((artifact) => moved(artifact, ahead));
    },
    // The end of a window stays in the time that all nodes share, because nodes compare and store it.
    hit: (...call) => store.hit(...call),
    lease: (...call) => store.lease(...call),
    async health() {
      await store.health();
      clock.ahead();
    },
    async close() {
      clock.stop();
      await store.close();
    },
  };
  return { store: timed, now: clock.now };
}

type ArtifactsByKey = Awaited<ReturnType<ArtifactStore['read']>>;

/** Returns the artifacts in this node's time. Artifacts that have expired by this node's clock are left out. */
function inLocalTime(read: ArtifactsByKey, ahead: number): ArtifactsByKey {
  const now = Date.now();
  const artifacts = [...read.values()].map((artifact) => moved(artifact, ahead));
  return new Map(artifacts.flatMap((artifact) => (artifact.expiresAt > now ? [[artifact.key, artifact]] : [])));
}

const moved = <A extends Pick<Artifact, 'expiresAt' | 'consumedAt'>>(artifact: A, ms: number): A => ({
  ...artifact,
  expiresAt: artifact.expiresAt + ms,
  ...(artifact.consumedAt === undefined ? {} : { consumedAt: artifact.consumedAt + ms }),
});

const movedWrite = (write: ArtifactWrite, ms: number): ArtifactWrite =>
  write.op === 'put' ? moved(write, ms) : { ...write, until: write.until + ms };
