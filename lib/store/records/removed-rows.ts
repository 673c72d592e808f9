/**
 * Removed rows that still carry events. The remainder of a removed row has only the id and the events. For all callers except the
 * dispatcher of events, the row does not exist and its id is free. The dispatcher removes the remainder after it has dispatched the events.
 */

import { IdpError } from '../../errors.js';
import { present } from '../../present.js';
import type { Collection, Page, Range, Row, Unsaved, Where } from '../directory-store.js';
import { positionBehind } from '../index-order.js';
import { type LeftOutRow, leftOutOf, withLeftOut } from './left-out.js';
import type { PendingEvent } from './records.js';

/** The remainder of a removed row. */
export interface RemovedRow extends Row {
  readonly removedAt: Date;
  readonly pendingEvents: readonly PendingEvent[];
  readonly outbox: 'yes';
}

export const isRemoved = (row: object): row is RemovedRow => 'removedAt' in row;

/** Returns the remainder of a removed row. */
export const remainderOf = (id: string, pendingEvents: readonly PendingEvent[], removedAt: Date): Unsaved<RemovedRow> => ({
  id,
  removedAt,
  pendingEvents,
  outbox: 'yes',
});

const eventsOf = (row: object): readonly PendingEvent[] => (row as Partial<RemovedRow>).pendingEvents ?? [];

/** Returns the rows of a look-up that pass the filter. Each page is full; only the last page may be shorter. */
export function findKept<R extends Row>(
  rows: Pick<Collection<R>, 'find'>,
  where: Where,
  page: Page | undefined,
  isKept: (row: R) => boolean,
): Promise<readonly R[]> {
  if (page) return findKeptPage(rows, where, page, isKept);
  return rows.find(where).then((all) => (all.every(isKept) ? all : withLeftOut(all.filter(isKept), leftOutOf(all))));
}

async function findKeptPage<R extends Row>(
  rows: Pick<Collection<R>, 'find'>,
  where: Where,
  page: Page,
  isKept: (row: R) => boolean,
): Promise<readonly R[]> {
  const rowsOfPage: R[] = [];
  const leftOut: LeftOutRow[] = [];
  for (let after = page.after; ; ) {
    const all = await rows.find(where, { limit: page.limit, ...present({ after }) });
    const fitting = all.filter(isKept);
    if (rowsOfPage.length === 0 && leftOut.length === 0 && fitting.length === all.length) return all;
    rowsOfPage.push(...fitting);
    leftOut.push(...leftOutOf(all));
    after = positionBehind(all, after);
    if (all.length < page.limit || rowsOfPage.length >= page.limit || after === undefined)
      return withLeftOut(rowsOfPage.slice(0, page.limit), leftOut);
  }
}

/** Returns the rows of a range that pass the filter. Reads further rows in place of the rows that are left out, as {@link findKept} does. */
export async function rangeKept<R extends Row>(
  rows: Pick<Collection<R>, 'range'>,
  range: Range,
  isKept: (row: R) => boolean,
): Promise<readonly R[]> {
  for (let limit = range.limit; ; ) {
    const all = await rows.range({ ...range, limit });
    const fitting = all.filter(isKept);
    if (fitting.length >= range.limit || all.length < limit) return withLeftOut(fitting.slice(0, range.limit), leftOutOf(all));
    limit *= 2;
  }
}

/** Returns the rows of a collection as all callers except the dispatcher see them. */
export function withoutRemoved<R extends Row>(rows: Collection<R>): Collection<R> {
  /**
   * Replaces the remainder of a removed row. The new row carries the events of the remainder.
   * @returns undefined when the remainder no longer exists, or another row has the id
   */
  async function replaceRemoved(row: Unsaved<R>): Promise<R | undefined> {
    let isFree = false;
    const written = await rows.update(row.id, (current) => {
      isFree = isRemoved(current);
      return isFree
        ? ({ ...row, pendingEvents: [...eventsOf(current), ...eventsOf(row)], outbox: 'yes' } as unknown as Unsaved<R>)
        : current;
    });
    return isFree ? written : undefined;
  }

  return {
    async get(id) {
      const row = await rows.get(id);
      return row && !isRemoved(row) ? row : undefined;
    },
    find: (where, page) => findKept(rows, where, page, (row) => !isRemoved(row)),
    range: (range) => rows.range(range),
    async insert(row) {
      const inserted = await rows.insert(row).catch(IdpError.unless('conflict'));
      return inserted ?? (await replaceRemoved(row)) ?? rows.insert(row);
    },
    put: (row) => rows.put(row),
    async update(id, change) {
      let isGone = false;
      const row = await rows.update(id, (current) => {
        isGone = isRemoved(current);
        return isGone ? current : change(current);
      });
      return isGone ? undefined : row;
    },
    async remove(id, version) {
      for (;;) {
        const row = await rows.get(id);
        if (row === undefined || isRemoved(row)) return false;
        if (await rows.remove(id, version ?? row.version)) return true;
        if (version !== undefined) return false;
      }
    },
  };
}
