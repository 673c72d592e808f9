/**
 * Removed rows that still carry events. Nothing but their id and the events is left of them; to everybody except the dispatcher of events they are not
 * there, and their id is free. The dispatcher removes what is left once the events are dispatched.
 */

import { IdpError } from '../../errors.js';
import { present } from '../../present.js';
import type { Collection, Page, Range, Row, Unsaved, Where } from '../directory-store.js';
import { positionBehind } from '../index-order.js';
import { type LeftOutRow, leftOutOf, withLeftOut } from './left-out.js';
import type { PendingEvent } from './records.js';

/** What is left of a row. */
export interface RemovedRow extends Row {
  readonly removedAt: Date;
  readonly pendingEvents: readonly PendingEvent[];
  readonly outbox: 'yes';
}

export const isRemoved = (row: object): row is RemovedRow => 'removedAt' in row;

/** The row that is left of a removed one. */
export const remainderOf = (id: string, pendingEvents: readonly PendingEvent[], removedAt: Date): Unsaved<RemovedRow> => ({
  id,
  removedAt,
  pendingEvents,
  outbox: 'yes',
});

const eventsOf = (row: object): readonly PendingEvent[] => (row as Partial<RemovedRow>).pendingEvents ?? [];

/** Rows of a look-up that are kept, with as many in each page as it asks for: a page is short only at the end of all. */
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

/** As {@link findKept}: more are read in the place of those that are left out. */
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

/** The rows of a collection as everybody but the dispatcher sees them. */
export function withoutRemoved<R extends Row>(rows: Collection<R>): Collection<R> {
  /** Puts a row in the place of a removed one, whose events it carries on. @returns undefined when there is no such row any more, or another has the id */
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
