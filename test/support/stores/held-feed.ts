import type { Collection, DirectoryStore, Row } from '../../../lib/store/directory-store.js';
import { withCollections } from '../../store/with-collections.js';

/** Collections that requests read. Background jobs read the other collections, and read these only for waiting events. */
const ofRequests: ReadonlySet<string> = new Set([
  'tenants',
  'subsidiaries',
  'persons',
  'credentials',
  'groups',
  'permissions',
  'clients',
  'apiResources',
  'consents',
  'signingKeys',
]);

/**
 * Returns the directory of one node, whose change feed can be held. The node then sees no later change of another node, and keeps its
 * cached rows. The directory records the reads of requests.
 */
export function heldFeed(store: DirectoryStore) {
  let heldAfter: string | undefined;
  let reads: string[] = [];
  const counted = (name: string, method: string, where: object = {}): void => {
    const isOfWork = Object.keys(where).some((index) => /outbox/i.test(index));
    if (ofRequests.has(name) && !isOfWork) reads.push(`${name}.${method}`);
  };
  const directory = withCollections(store, <R extends Row>(rows: Collection<R>, name: string) => ({
    async find(where, page) {
      counted(name, 'find', where);
      const found = await rows.find(where, page);
      return name === 'changes' && heldAfter !== undefined ? found.filter(({ id }) => id <= (heldAfter as string)) : found;
    },
    get(id) {
      counted(name, 'get');
      return rows.get(id);
    },
    range(range) {
      counted(name, 'range', { [range.index]: '' });
      return rows.range(range);
    },
  }));
  return {
    directory,
    async hold(): Promise<void> {
      const entries = await store.collection('changes').find({}, { limit: 10_000 });
      heldAfter =
        entries
          .map(({ id }) => id)
          .sort()
          .at(-1) ?? '';
    },
    goOn(): void {
      heldAfter = undefined;
    },
    /** Returns the reads of requests during the call. */
    async readsDuring(call: () => Promise<unknown>): Promise<readonly string[]> {
      reads = [];
      await call();
      return reads;
    },
  };
}
