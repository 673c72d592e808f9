/** Stores as the service uses them: whatever goes wrong in one is an outage, told in one way, and in time. */
import { IdpError, StoreAwayError, UnavailableError } from '../errors.js';
import type { Logger } from '../logger.js';
import type { ArtifactStore } from './artifact-store.js';
import type { Collection, DirectoryStore, Row } from './directory-store.js';
import { createOutage, type Outage } from './outages.js';
import type { Patience } from './patience.js';

/** @throws UnavailableError `store_unavailable`, with what happened as its cause; StoreAwayError when it cannot be opened. */
export function reachableArtifacts(store: ArtifactStore, patience: Patience, logger: Logger): ArtifactStore {
  const { name, ephemeral } = store;
  const outage = createOutage(`artifacts (${name})`, () => health(), logger);
  const reach = reachOf(store, patience, outage);
  const health = () => reach(() => store.health(), true);
  return {
    name,
    ephemeral,
    open: () => opened('artifact', name, () => store.open(), health),
    read: (requests) => reach(() => store.read(requests)),
    commit: (writes) => reach(() => store.commit(writes)),
    listByAccount: (account) => reach(() => store.listByAccount(account)),
    hit: (counter, window, by) => reach(() => store.hit(counter, window, by)),
    lease: (lease, holder, ttl) => reach(() => store.lease(lease, holder, ttl)),
    health,
    close() {
      outage.close();
      return store.close();
    },
  };
}

/** @throws UnavailableError, StoreAwayError; what a store says on purpose (IdpError) and what a change throws stay as they are. */
export function reachableDirectory(store: DirectoryStore, patience: Patience, logger: Logger): DirectoryStore {
  const { name, ephemeral } = store;
  const outage = createOutage(`directory (${name})`, () => health(), logger);
  const reach = reachOf(store, patience, outage);
  const health = () => reach(() => store.health(), true);
  return {
    name,
    ephemeral,
    open: (specs) => opened('directory', name, () => store.open(specs), health),
    collection: <R extends Row>(collection: string) => reachableCollection(store.collection<R>(collection), reach),
    health,
    close() {
      outage.close();
      return store.close();
    },
  };
}

const reachableCollection = <R extends Row>(rows: Collection<R>, reach: Reach): Collection<R> => ({
  get: (id) => reach(() => rows.get(id)),
  find: (where, page) => reach(() => rows.find(where, page)),
  insert: (row) => reach(() => rows.insert(row)),
  put: (row) => reach(() => rows.put(row)),
  async update(id, change) {
    let refusal: { readonly reason: unknown } | undefined;
    try {
      return await reach(() =>
        rows.update(id, (row) => {
          try {
            return change(row);
          } catch (reason) {
            refusal = { reason };
            throw reason;
          }
        }),
      );
    } catch (error) {
      const { cause } = error as Error;
      throw refusal !== undefined && (cause === refusal.reason || error === refusal.reason) ? refusal.reason : error;
    }
  },
  remove: (id) => reach(() => rows.remove(id)),
});

type Reach = <T>(call: () => Promise<T>, isProbe?: boolean) => Promise<T>;

function reachOf(store: { readonly name: string }, patience: Patience, outage: Outage): Reach {
  const explain = (cause: unknown): unknown => {
    if (cause instanceof IdpError) return cause;
    outage.failed(cause);
    return new UnavailableError('store_unavailable', { store: store.name }, { cause });
  };
  return (call, isProbe) => patience.wait(store, call, explain, outage.answered, isProbe);
}

/** Milliseconds after which a store that is not open yet is asked whether it is there at all. */
const OPENING = 3000;

/** Opening may take its time, as building an index does; but not while the store does not even say that it is well. */
async function opened(kind: 'artifact' | 'directory', name: string, open: () => Promise<void>, health: () => Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const absent = new Promise<never>((_resolve, reject) => {
    timer = setInterval(() => void health().catch(reject), OPENING);
  });
  try {
    await Promise.race([open(), absent]);
  } catch (cause) {
    throw cause instanceof IdpError && cause.code !== 'store_unavailable' ? cause : new StoreAwayError(kind, name, cause);
  } finally {
    clearInterval(timer);
  }
}
