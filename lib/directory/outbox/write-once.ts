/**
 * Writes of a request that may be retried, because the store made a write and its answer was lost.
 *
 * The event of a write carries the mark of the write as its id. The mark follows from the request, the record, and how many writes of the
 * request the record had before. A second run of the request finds the mark in the record or in the log of events, and leaves the record
 * unchanged.
 */
import { v5 } from 'uuid';
import { IdpError } from '../../errors.js';
import type { WriteOnce } from '../../events.js';
import type { Collection, Row, Unsaved } from '../../store/directory-store.js';
import type { Outboxed } from '../../store/records/records.js';

/** Returns whether the log has the event with this id. */
export type IsLogged = (eventId: string) => Promise<boolean>;

/** One write of a request to one record. */
export interface MarkedWrite {
  /** Returns the id of the n-th event that the write adds. */
  eventId(index: number): string;
  /** Returns whether an earlier run of the request made the write. */
  isDone(row: object): Promise<boolean>;
}

/** Number of writes of each run to each record so far. */
const runs = new WeakMap<WriteOnce, Map<string, number>>();

/** Returns the next write of a run to a record; undefined without a run. */
export function markedWrite(once: WriteOnce | undefined, record: readonly [collection: string, id: string], isLogged: IsLogged) {
  if (!once) return undefined;
  const writes = runs.get(once) ?? new Map<string, number>();
  runs.set(once, writes);
  const name = JSON.stringify(record);
  const nth = writes.get(name) ?? 0;
  writes.set(name, nth + 1);
  const eventId = (index: number): string => v5(JSON.stringify(['write', once.id, name, nth, index]), v5.URL);
  const isIn = (row: object): boolean => ((row as Partial<Outboxed>).pendingEvents ?? []).some(({ id }) => id === eventId(0));
  const write: MarkedWrite = {
    eventId,
    isDone: async (row) => isIn(row) || isLogged(eventId(0)),
  };
  return write;
}

/** Marks that another write came between the read and the write. */
const CHANGED = Symbol('changed');

/**
 * Updates a row, unless another run made the write. The write requires the version that was read before the look-up of its mark. So a first run that writes
 * after a retry has written leaves the row unchanged, even if the mark has left the row.
 * @returns the row as it is now
 */
export async function updateOnce<R extends Row, Found extends R | undefined>(
  rows: { get(id: string): Promise<R | undefined>; update(id: string, change: (row: R) => Unsaved<R>): Promise<Found> },
  id: string,
  change: (row: R) => Unsaved<R>,
  write: MarkedWrite | undefined,
): Promise<Found> {
  if (!write) return rows.update(id, change);
  for (;;) {
    const seen = await rows.get(id);
    if (seen && (await write.isDone(seen))) return seen as Found;
    try {
      return await rows.update(id, (row) => {
        if (row.version !== seen?.version) throw CHANGED;
        return change(row);
      });
    } catch (error) {
      if (error !== CHANGED) throw error;
    }
  }
}

/** Inserts a row. A conflict with the row that an earlier run inserted is no error. */
export async function insertOnce<R extends Row>(
  rows: Pick<Collection<R>, 'get'>,
  id: string,
  insert: () => Promise<R>,
  write: MarkedWrite | undefined,
): Promise<R> {
  try {
    return await insert();
  } catch (error) {
    const existing = write && IdpError.is(error, 'conflict') ? await rows.get(id) : undefined;
    if (existing && (await write?.isDone(existing))) return existing;
    throw error;
  }
}
