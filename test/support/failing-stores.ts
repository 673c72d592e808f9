import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import type { Collection, DirectoryStore, Row } from '../../lib/store/directory-store.js';

/** Stores that work until they are told to fail, and again when told so. */
export function failingStores() {
  const down = { artifacts: false, directory: false, writes: false, directoryWrites: false };
  const secret = new Error('connect ECONNREFUSED 10.1.2.3:6379 password=hunter2');
  const guarded =
    <A extends unknown[], T>(which: 'artifacts' | 'directory', call: (...args: A) => Promise<T>, isWrite = false) =>
    async (...args: A): Promise<T> => {
      if (down[which] || (isWrite && down[which === 'artifacts' ? 'writes' : 'directoryWrites'])) throw secret;
      return call(...args);
    };
  const inner = memoryArtifacts();
  const artifacts: ArtifactStore = {
    name: 'failing',
    ephemeral: true,
    open: () => inner.open(),
    read: guarded('artifacts', (requests) => inner.read(requests)),
    commit: guarded('artifacts', (writes) => inner.commit(writes), true),
    listByAccount: guarded('artifacts', (account) => inner.listByAccount(account)),
    hit: guarded('artifacts', (counter, window, by) => inner.hit(counter, window, by)),
    lease: guarded('artifacts', (name, holder, ttl) => inner.lease(name, holder, ttl)),
    health: guarded('artifacts', () => inner.health()),
    close: () => inner.close(),
  };
  const rows = memoryDirectory();
  const collection = <R extends Row>(name: string): Collection<R> => {
    const of = rows.collection<R>(name);
    return {
      get: guarded('directory', (id) => of.get(id)),
      find: guarded('directory', (where, page) => of.find(where, page)),
      insert: guarded('directory', (row) => of.insert(row), true),
      put: guarded('directory', (row) => of.put(row), true),
      update: guarded('directory', (id, change) => of.update(id, change), true),
      remove: guarded('directory', (id) => of.remove(id), true),
    };
  };
  const directory: DirectoryStore = {
    name: 'failing',
    ephemeral: true,
    open: (specs) => rows.open(specs),
    collection,
    health: guarded('directory', () => rows.health()),
    close: () => rows.close(),
  };
  return { artifacts, directory, down };
}
