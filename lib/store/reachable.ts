/** Stores as the service uses them: whatever goes wrong in one is an outage, told in one way. */
import { IdpError, UnavailableError } from '../errors.js';
import type { ArtifactStore } from './artifact-store.js';
import type { Collection, DirectoryStore, Row } from './directory-store.js';

/** @throws UnavailableError `store_unavailable`, with what happened as its cause. */
export function reachableArtifacts(store: ArtifactStore): ArtifactStore {
  const { name, ephemeral } = store;
  const reach = reachOf(name);
  return {
    name,
    ephemeral,
    open: () => store.open(),
    read: (requests) => reach(() => store.read(requests)),
    commit: (writes) => reach(() => store.commit(writes)),
    listByAccount: (account) => reach(() => store.listByAccount(account)),
    hit: (counter, window, by) => reach(() => store.hit(counter, window, by)),
    lease: (lease, holder, ttl) => reach(() => store.lease(lease, holder, ttl)),
    health: () => store.health(),
    close: () => store.close(),
  };
}

/** @throws UnavailableError `store_unavailable`; what a store says on purpose (IdpError) and what a change throws stay as they are. */
export function reachableDirectory(store: DirectoryStore): DirectoryStore {
  const { name, ephemeral } = store;
  const reach = reachOf(name);
  return {
    name,
    ephemeral,
    open: (specs) => store.open(specs),
    collection: <R extends Row>(collection: string) => reachableCollection(store.collection<R>(collection), reach),
    health: () => store.health(),
    close: () => store.close(),
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
      return await rows.update(id, (row) => {
        try {
          return change(row);
        } catch (reason) {
          refusal = { reason };
          throw reason;
        }
      });
    } catch (error) {
      if (refusal?.reason === error) throw error;
      return reach(() => Promise.reject(error));
    }
  },
  remove: (id) => reach(() => rows.remove(id)),
});

type Reach = <T>(call: () => Promise<T>) => Promise<T>;

const reachOf =
  (store: string): Reach =>
  async (call) => {
    try {
      return await call();
    } catch (cause) {
      throw cause instanceof IdpError ? cause : new UnavailableError('store_unavailable', { store }, { cause });
    }
  };
