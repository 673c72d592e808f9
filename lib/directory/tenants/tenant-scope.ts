import { IdpError } from '../../errors.js';
import type { Collection, CollectionSpec, Page, Row, Unsaved } from '../../store/directory-store.js';

interface Owned extends Row {
  readonly tid: string;
}

/** What a tenant-bound service sees of a collection: the rows of its tenant. A foreign row is an absent one. */
export interface TenantScope<R extends Owned> {
  get(id: string): Promise<R | undefined>;
  /** Rows of an index, by the values of its fields other than the tenant's id. */
  find(index: string, values: readonly string[], page?: Page): Promise<readonly R[]>;
  insert(row: Omit<Unsaved<R>, 'tid'>): Promise<R>;
  /** @throws IdpError `not_found`. */
  update(id: string, change: (row: R) => Unsaved<R>): Promise<R>;
  /** @throws IdpError `not_found`. */
  remove(id: string): Promise<void>;
}

/** The only way from a tenant-bound service to rows. */
export function createTenantScope<R extends Owned>(rows: Collection<R>, spec: CollectionSpec, tid: string): TenantScope<R> {
  const own = (row: R | undefined): row is R => row?.tid === tid;
  return {
    async get(id) {
      const row = await rows.get(id);
      return own(row) ? row : undefined;
    },
    async find(index, values, page) {
      const bound = spec.indexes[index]?.fields[0] === 'tid' ? [tid, ...values] : values;
      return (await rows.find({ [index]: bound }, page)).filter(own);
    },
    insert: (row) => rows.insert({ ...row, tid } as Unsaved<R>),
    async update(id, change) {
      const row = await rows.update(id, (current) => {
        if (!own(current)) return current;
        const next = change(current);
        return next === current ? current : { ...next, id, tid };
      });
      if (!own(row)) throw new IdpError('not_found');
      return row;
    },
    async remove(id) {
      if (!own(await rows.get(id)) || !(await rows.remove(id))) throw new IdpError('not_found');
    },
  };
}
