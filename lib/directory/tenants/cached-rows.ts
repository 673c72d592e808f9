import type { Caches } from '../../store/caches/cache.js';
import {
  type CachedRows,
  type ExtensionCollection,
  type ExtensionRows,
  type FoundRows,
  type RowsOfAllTenants,
  TENANT_INDEX,
} from './extension-collections.js';

export interface CachedRowsParts<Members> {
  readonly collection: ExtensionCollection;
  readonly index?: string | undefined;
  readonly caches: Pick<Caches, 'over'>;
  readonly all: Pick<RowsOfAllTenants<Members>, 'get'>;
  readonly of: (tid: string) => Pick<ExtensionRows<Members>, 'findAll'>;
}

/**
 * Creates reads of rows that a node caches until any node writes one, for a minute at most. While the store is unavailable, cached rows
 * stay valid, and so do cached absences, so that pages still work.
 */
export function createCachedRows<Members>({
  collection,
  index = TENANT_INDEX,
  caches,
  all,
  of,
}: CachedRowsParts<Members>): CachedRows<Members> {
  const { name, cached = false } = collection;
  if (!cached) throw new TypeError(`The collection ${name} is not cached. Declare it with cached: true.`);
  const byId = caches.over([name], (id) => all.get(id), { isById: true, standsInOutage: true });
  const nothing: FoundRows<Members> = { rows: [], unreadable: [] };
  const byIndex = caches.over(
    [name],
    async (key) => {
      const [tid = '', ...values] = JSON.parse(key) as readonly string[];
      const result = await of(tid).findAll(index, values);
      // Absent rows are not cached, because strangers could fill the cache with unknown names.
      return result.rows.length + result.unreadable.length === 0 ? undefined : result;
    },
    { standsInOutage: true },
  );
  return {
    get: (id) => byId.peek(id) ?? byId.get(id),
    findAll(tid, values) {
      const key = JSON.stringify([tid, ...values]);
      return byIndex.peek(key) ?? byIndex.get(key).then((result) => result ?? nothing);
    },
  };
}
