import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import type { DirectoryStore } from '../../../lib/store/directory-store.js';

/** Store calls of background jobs: the lease of a job, and the search of each round for events and deliveries. */
const comesRound: readonly string[] = ['artifacts.lease', 'changes.get', 'deliveries.find', 'upkeep.get', 'upkeep.update', 'upkeep.insert'];

/** Returns stores that record their calls, because each call would be a round trip to a server. */
export function countedStores() {
  const asked: string[] = [];
  const counted = <T extends object>(name: string, store: T): T =>
    new Proxy(store, {
      get(target, member) {
        const value: unknown = Reflect.get(target, member);
        if (typeof value !== 'function' || member === 'collection') return value;
        return (...parameters: unknown[]) => {
          // Only the sweep reads all rows of a collection; no request does.
          const [where, page] = parameters;
          const isOfSweep = member === 'find' && page !== undefined && Object.keys(where as object).length === 0;
          if (!isOfSweep) asked.push(`${name}.${String(member)}`);
          return Reflect.apply(value, target, parameters) as unknown;
        };
      },
    });
  const rows = memoryDirectory();
  const directory: DirectoryStore = { ...rows, collection: (name) => counted(name, rows.collection(name)) };
  return {
    artifacts: counted('artifacts', memoryArtifacts()),
    directory,
    /** Returns the store calls of a request, without periodic work, which no request waits for. */
    async during<T>(call: () => Promise<T>): Promise<{ readonly asked: readonly string[]; readonly answer: T }> {
      asked.length = 0;
      const answer = await call();
      return { asked: asked.filter((each) => !comesRound.includes(each)), answer };
    },
  };
}
