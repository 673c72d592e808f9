import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import type { ArtifactStore } from '../../../lib/store/artifact-store.js';
import type { DirectoryStore } from '../../../lib/store/directory-store.js';
import { collections as collectionsOfStore } from '../../../lib/store/records/collections.js';
import { withCollections } from '../../store/with-collections.js';

/** Calls that fail: all, reads, or writes. */
export interface Down {
  /** Whether failing calls are never answered, instead of refused. */
  hang: boolean;
  artifacts: boolean;
  reads: boolean;
  writes: boolean;
  directory: boolean;
  directoryWrites: boolean;
  /** Whether calls to the collection of credentials fail. */
  credentials: boolean;
}
const up: Down = {
  hang: false,
  artifacts: false,
  reads: false,
  writes: false,
  directory: false,
  directoryWrites: false,
  credentials: false,
};

/** Returns stores that work, except for the calls that `down` says. */
export function failingStores() {
  const down = { ...up };
  const secret = new Error('connect ECONNREFUSED 10.1.2.3:6379 password=hunter2');
  const guard =
    (...causes: (keyof Down)[]) =>
    <A extends unknown[], T>(call: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      if (!causes.some((cause) => down[cause])) return call(...args);
      if (down.hang) return new Promise(() => {});
      throw secret;
    };
  const [read, write] = [guard('artifacts', 'reads'), guard('artifacts', 'writes')];
  const wholly = guard('directory');
  const inner = memoryArtifacts();
  const artifacts: ArtifactStore = {
    name: 'failing',
    ephemeral: true,
    open: read(() => inner.open()),
    read: read((requests) => inner.read(requests)),
    commit: write((writes) => inner.commit(writes)),
    listByAccount: read((account) => inner.listByAccount(account)),
    hit: write((counter, window, by) => inner.hit(counter, window, by)),
    lease: write((name, holder, ttl) => inner.lease(name, holder, ttl)),
    health: read(() => inner.health()),
    close: () => inner.close(),
  };
  const rows = memoryDirectory();
  let looks = 0;
  const collections = withCollections(rows, (of, name) => {
    const own = name === 'credentials' ? (['credentials'] as const) : [];
    const [readRow, writeRow] = [guard('directory', ...own), guard('directory', 'directoryWrites', ...own)];
    const find = readRow(of.find);
    return {
      get: readRow(of.get),
      async find(where, page) {
        const rowsFound = await find(where, page);
        if (name === collectionsOfStore.changes.name) looks += 1;
        return rowsFound;
      },
      range: readRow(of.range),
      insert: writeRow(of.insert),
      put: writeRow(of.put),
      update: writeRow(of.update),
      remove: writeRow(of.remove),
    };
  });
  const directory: DirectoryStore = {
    ...collections,
    name: 'failing',
    open: wholly((specs) => rows.open(specs)),
    health: wholly(() => rows.health()),
  };
  return {
    artifacts,
    directory,
    down,
    /** Lets all calls succeed again. */
    recover: () => void Object.assign(down, up),
    /** Returns the number of looks for changes of other nodes. */
    looks: () => looks,
  };
}
