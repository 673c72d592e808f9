/** Stores as the service uses them. Each failure of a store is an outage. Callers get one kind of error for an outage, within the time limit. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { IdpError, StoreAwayError, UnavailableError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { nodeTime } from '../../times/node-time.js';
import { hashedKey } from '../artifact-key.js';
import type { ArtifactStore } from '../artifact-store.js';
import type { Collection, DirectoryStore, Row } from '../directory-store.js';
import { collections } from '../records/collections.js';
import type { UpkeepRecord } from '../records/records.js';
import type { CallKind, CallTimeouts } from './call-timeouts.js';
import { createOutage, type Outage } from './outages.js';
import { createWriteProbe, ReadOnlyError } from './write-probe.js';

/** @throws UnavailableError `store_unavailable`, with the store's error as its cause; StoreAwayError when the store cannot be opened. */
export function createReachableArtifacts(store: ArtifactStore, callTimeouts: CallTimeouts, logger: Logger): ArtifactStore {
  const { name, ephemeral } = store;
  const outage = createOutage(`artifacts (${name})`, () => health(), logger);
  const reach = reachOf(store, callTimeouts, outage);
  // Each probe has a new store key, so that in a Cluster the probes reach all primaries in turn.
  const probe = () => store.commit([{ op: 'put', key: hashedKey('Probe', randomUUID()), value: '', expiresAt: nodeTime() + PROBE_TTL_MS }]);
  const { opened, health } = healthOf('artifact', store, probe, reach, outage);
  return {
    name,
    ephemeral,
    open: () => opened(() => store.open()),
    read: (requests) => reach(() => store.read(requests)),
    commit: (writes) => reach(() => store.commit(writes), write),
    listByAccount: (account) => reach(() => store.listByAccount(account)),
    hit: (counter, window, by) => reach(() => store.hit(counter, window, by), write),
    lease: (lease, holder, ttl) => reach(() => store.lease(lease, holder, ttl), write),
    health,
    close() {
      outage.close();
      return store.close();
    },
  };
}

/** @throws UnavailableError, StoreAwayError. An IdpError of the store and an error of a change are thrown unchanged. */
export function createReachableDirectory(store: DirectoryStore, callTimeouts: CallTimeouts, logger: Logger): DirectoryStore {
  const { name, ephemeral } = store;
  const outage = createOutage(`directory (${name})`, () => health(), logger);
  const reach = reachOf(store, callTimeouts, outage);
  const probe = () => store.collection<UpkeepRecord>(collections.upkeep.name).put({ id: 'probe', done: 0 });
  const { opened, health } = healthOf('directory', store, probe, reach, outage);
  return {
    name,
    ephemeral,
    open: (specs) => opened(() => store.open(specs)),
    collection: <R extends Row>(collection: string) => createReachableCollection(store.collection<R>(collection), reach),
    health,
    close() {
      outage.close();
      return store.close();
    },
  };
}

const createReachableCollection = <R extends Row>(rows: Collection<R>, reach: Reach): Collection<R> => ({
  get: (id) => reach(() => rows.get(id)),
  find: (where, page) => reach(() => rows.find(where, page)),
  range: (range) => reach(() => rows.range(range)),
  insert: (row) => reach(() => rows.insert(row), write),
  put: (row) => reach(() => rows.put(row), write),
  async update(id, change) {
    let refusal: { readonly reason: unknown } | undefined;
    try {
      return await reach(
        () =>
          rows.update(id, (row) => {
            try {
              return change(row);
            } catch (reason) {
              refusal = { reason };
              throw reason;
            }
          }),
        write,
      );
    } catch (error) {
      const { cause } = error as Error;
      throw refusal !== undefined && (cause === refusal.reason || error === refusal.reason) ? refusal.reason : error;
    }
  },
  remove: (id, version) => reach(() => rows.remove(id, version), write),
});

type Reach = <T>(call: () => Promise<T>, kind?: CallKind) => Promise<T>;

const write: CallKind = { isWrite: true };

function reachOf(store: { readonly name: string }, callTimeouts: CallTimeouts, outage: Outage): Reach {
  const explain = (cause: unknown): unknown => {
    if (cause instanceof IdpError) return cause;
    outage.failed(cause);
    return new UnavailableError('store_unavailable', { store: store.name }, { cause });
  };
  return (call, kind) => callTimeouts.wait(store, call, explain, kind);
}

/** Milliseconds that the record of a probe is kept. */
const PROBE_TTL_MS = 5000;
/** Milliseconds that a store may take to become available while the service starts. */
const START_TIMEOUT_MS = 5000;
/** Milliseconds between two attempts to open a store. */
const PAUSE_MS = 250;
/** Milliseconds between two checks whether a store that takes longer to open can be reached. */
const LOOK_MS = 1000;

/** Calls that open a store and check whether it can serve. @param writeProbe writes a record that nobody reads. */
function healthOf(
  kind: 'artifact' | 'directory',
  store: Pick<ArtifactStore | DirectoryStore, 'name' | 'health'>,
  writeProbe: () => Promise<unknown>,
  reach: Reach,
  outage: Outage,
) {
  let isOpen = false;
  const probe = createWriteProbe(writeProbe);
  const answers = () => reach(() => store.health(), { isProbe: true });

  /** Opens a store. Opening may take long, such as for building an index, but only while the store reports that it is healthy. */
  async function attempt(open: () => Promise<void>, end: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const absent = new Promise<never>((_resolve, reject) => {
      timer = setInterval(() => performance.now() >= end && void answers().catch(reject), LOOK_MS);
    });
    try {
      await Promise.race([open(), absent]);
    } finally {
      clearInterval(timer);
    }
  }

  return {
    async opened(open: () => Promise<void>): Promise<void> {
      for (const end = performance.now() + START_TIMEOUT_MS; ; ) {
        try {
          await attempt(open, end);
          isOpen = true;
          return;
        } catch (cause) {
          const isAway = !(cause instanceof IdpError) || cause.code === 'store_unavailable';
          if (isAway && performance.now() < end) {
            await sleep(PAUSE_MS);
            continue;
          }
          // The service never closes a store that did not open, and the checks of the outage would keep the process alive.
          outage.close();
          throw isAway ? new StoreAwayError(kind, store.name, cause) : cause;
        }
      }
    },

    /** @throws ReadOnlyError when the store answers reads and takes no writes. */
    async health(): Promise<void> {
      await answers();
      if (!isOpen) return;
      await reach(probe, { isWrite: true, isProbe: true }).catch((error: unknown) => {
        throw new ReadOnlyError(error);
      });
    },
  };
}
