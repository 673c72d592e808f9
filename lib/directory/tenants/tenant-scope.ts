import { IdpError } from '../../errors.js';
import type { CollectionSpec, Page, Range, Row, Unsaved } from '../../store/directory-store.js';
import type { CheckedCollection } from '../../store/records/checked-directory.js';
import { leftOutOf, withLeftOut } from '../../store/records/left-out.js';
import type { PendingEvent } from '../../store/records/records.js';
import { findKept, rangeKept } from '../../store/records/removed-rows.js';

interface Owned extends Row {
  readonly tid: string;
}

/** Rows of a collection for a tenant-bound service: only rows of its tenant. Rows of other tenants do not exist here. */
export interface TenantScope<R extends Owned> {
  get(id: string): Promise<R | undefined>;
  /** Returns rows of an index, by the values of its fields other than the tenant's id. */
  find(index: string, values: readonly string[], page?: Page): Promise<readonly R[]>;
  /** Returns a range of an index; `within` is without the tenant's id. */
  range(range: Range): Promise<readonly R[]>;
  insert(row: Omit<Unsaved<R>, 'tid'>): Promise<R>;
  /** @throws IdpError `not_found`. */
  update(id: string, change: (row: R) => Unsaved<R>): Promise<R>;
  /**
   * @param event of the removal, for collections that have events
   * @param check gets the row that is about to be removed with its event
   * @throws IdpError `not_found`.
   */
  remove(id: string, event?: PendingEvent, check?: (row: R) => void): Promise<void>;
}

/** Returns whether the first field of an index is the tenant's id, so that a tenant-bound caller gives the values of the other fields. */
export const isWithinTenant = (spec: CollectionSpec, index: string): boolean => spec.indexes[index]?.fields[0] === 'tid';

/** Creates the only access to rows for tenant-bound services. */
export function createTenantScope<R extends Owned>(rows: CheckedCollection<R>, spec: CollectionSpec, tid: string): TenantScope<R> {
  const own = (row: R | undefined): row is R => row?.tid === tid;
  const bound = (index: string, values: readonly string[]) => (isWithinTenant(spec, index) ? [tid, ...values] : values);
  /** Returns the rows, without the left-out rows of other tenants, because a tenant must not learn of them. */
  const ofTenant = (all: readonly R[]): readonly R[] =>
    withLeftOut(
      all,
      leftOutOf(all).filter((row) => row.tid === tid),
    );
  return {
    async get(id) {
      const row = await rows.get(id);
      return own(row) ? row : undefined;
    },
    // An index of all tenants also has rows of other tenants. The next rows are read in place of the rows of other tenants.
    find: async (index, values, page) => ofTenant(await findKept(rows, { [index]: bound(index, values) }, page, own)),
    range: async (range) => ofTenant(await rangeKept(rows, { ...range, within: bound(range.index, range.within) }, own)),
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
    async remove(id, event, check) {
      const isMeant = (row: R): boolean => {
        if (own(row)) check?.(row);
        return own(row);
      };
      const isThere = event ? await rows.retire(id, [event], isMeant) : own(await rows.get(id)) && (await rows.remove(id));
      if (!isThere) throw new IdpError('not_found');
    },
  };
}
