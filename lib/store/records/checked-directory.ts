/** A directory that checks the form of each row it reads. A row of another form is left out, so that the rest can be used. */
import { inspect } from 'node:util';
import { IdpError } from '../../errors.js';
import type { Collection, DirectoryStore, Page, Range, Row, Unsaved, Where } from '../directory-store.js';
import { hasOutbox } from './collections.js';
import { withKeys } from './derived-keys.js';
import { type LeftOutRow, withLeftOut } from './left-out.js';
import type { Outboxed, PendingEvent, SweptRow } from './records.js';
import { findKept, isRemoved, type RemovedRow, rangeKept, remainderOf, withoutRemoved } from './removed-rows.js';
import { hasRowChecks, isRemainder, wrongPath as wrongPathOf } from './row-checks.js';

export interface CheckedCollection<R extends Row> extends Collection<R> {
  /** Whether there is a row, readable or not. A row that is left out still takes its id and its unique values. */
  has(where: string | Where): Promise<boolean>;
  /** Returns what is wrong with the row; undefined for a sound row, and where there is none. */
  unreadable(id: string): Promise<LeftOutRow | undefined>;
  /**
   * Updates the row by compare-and-swap, as `update` does. It inserts the row where there is none, and replaces one that is left out.
   * For collections without unique indexes.
   */
  upsert(id: string, change: (row: R | undefined, isUnreadable: boolean) => Unsaved<R>): Promise<R>;
  /**
   * Removes the row by the write that raises the events of it; what is left carries them until they are dispatched.
   * @param isMeant false for a row that is none to the caller
   * @returns true when there was one
   */
  retire(id: string, events: readonly PendingEvent[], isMeant?: (row: R) => boolean): Promise<boolean>;
  /** With what is left of removed rows: for the dispatcher. */
  withRemoved(): Pick<Collection<R>, 'find' | 'update' | 'remove'>;
  /** With rows that are left out, of which any member but those of the index may be malformed: for removals and repairs. What is written is readable. */
  withUnreadable(): Pick<Collection<R>, 'get' | 'find' | 'update'> & {
    isReadable(row: R): boolean;
    problemOf(row: R): UnreadableRow | undefined;
    /** Returns a JSON Pointer to the first malformed part. Nothing is remembered. */
    readonly wrongPath: (row: R) => string | undefined;
  };
}

export interface CheckedDirectory extends DirectoryStore {
  collection<R extends Row>(name: string): CheckedCollection<R>;
  /** Calls the listener with the collection of each write of this node that leaves work for later: events in a row, or the removal of a tenant. */
  onWork(listener: (collection: string) => void): void;
  /**
   * Calls the listener with the collection of each write after which nobody knows what a row is: one that failed with `store_unavailable`, because the store may
   * have made it, and one that failed with `record_unreadable`, because the row may have been readable when somebody read it before.
   */
  onUncertain(listener: (collection: string) => void): void;
  /** Rows that their last read left out. Some of them are read again, because somebody may have repaired them. */
  problems(): Promise<readonly UnreadableRow[]>;
  /** Reads rows that another node found unreadable, and that {@link problems} does not name yet. */
  recall(rows: readonly SweptRow[]): Promise<void>;
}

export interface UnreadableRow {
  readonly code: 'record_unreadable';
  readonly collection: string;
  readonly id: string;
  /** A JSON Pointer to the first malformed part. */
  readonly path: string;
  /** The tenant that the row names. */
  readonly tid?: string;
}

interface Logger {
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** Unreadable rows that are remembered, because each is logged once. */
const REMEMBERED = 10_000;
/** Remembered rows that one call of `problems` reads again. */
const LOOKED_AT_AGAIN = 20;

/** Returns a JSON Pointer to the first malformed part of a row; undefined for a sound row. */
export type WrongPath = (collection: string, row: object) => string | undefined;

export interface CheckedDirectoryParts {
  readonly logger: Logger;
  /** The time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
  /** The check of collections of extensions. @default all rows are sound */
  readonly ofOthers?: WrongPath;
}

export function createCheckedDirectory(
  store: DirectoryStore,
  { logger, now, ofOthers = () => undefined }: CheckedDirectoryParts,
): CheckedDirectory {
  const wrongPath: WrongPath = (collection, row) => {
    if (hasOutbox(collection) && isRemoved(row)) return isRemainder(row) ? undefined : '/pendingEvents';
    return hasRowChecks(collection) ? wrongPathOf(collection, row) : ofOthers(collection, row);
  };
  /** By collection and id. */
  const bad = new Map<string, UnreadableRow>();
  // A store in this process hands out the same object at each read.
  const good = new WeakSet<Row>();
  const listeners: ((collection: string) => void)[] = [];
  const uncertain: ((collection: string) => void)[] = [];

  /** Returns what is wrong with a row, and remembers it; undefined for a sound row. */
  function problemOf(collection: string, row: Row): UnreadableRow | undefined {
    if (good.has(row)) return undefined;
    const path = wrongPath(collection, row);
    const id = nameOf(row).slice(0, 200);
    const key = `${collection}:${id}`;
    if (path === undefined) {
      good.add(row);
      if (bad.size > 0) bad.delete(key);
      return undefined;
    }
    const known = bad.get(key);
    if (known?.path === path) return known;
    const problem: UnreadableRow = { code: 'record_unreadable', collection, id, path, ...tidOf(row) };
    if (known || bad.size < REMEMBERED) {
      bad.set(key, problem);
      logger.error({ collection, id, path }, 'a stored record is not of its form, so it is left out: fix it in the store');
    }
    return problem;
  }

  const isGood = (collection: string, row: Row): boolean => problemOf(collection, row) === undefined;

  const checked = <R extends Row>(name: string, all: Collection<R>): CheckedCollection<R> => {
    const rows = hasOutbox(name) ? withoutRemoved(all) : all;
    /** What we write can be read. */
    const written = (given: Unsaved<R>): Unsaved<R> => {
      const row = withKeys(name, given);
      const path = wrongPath(name, { ...row, version: 1 });
      if (path === undefined) return row;
      throw new IdpError('invalid_record', { path, expected: 'what can be stored' });
    };

    const tellWork = (): void => {
      for (const listener of listeners) listener(name);
    };

    const failed = (error: unknown): never => {
      if (IdpError.is(error, 'store_unavailable', 'record_unreadable')) for (const listener of uncertain) listener(name);
      throw error;
    };

    /** A row that was checked when it was written. */
    const known = (row: R): R => {
      good.add(row);
      if (bad.size > 0) bad.delete(`${name}:${row.id}`);
      if ((row as Partial<Outboxed>).outbox !== undefined || name === 'removals') tellWork();
      return row;
    };

    /** Reads rows, and remembers which rows were left out. The rests of removed rows are left out without a word. */
    async function naming(read: (isKept: (row: R) => boolean) => Promise<readonly R[]>): Promise<readonly R[]> {
      let leftOut: Map<string, LeftOutRow> | undefined;
      const isKept = (row: R): boolean => {
        if (hasOutbox(name) && isRemoved(row)) return false;
        const problem = problemOf(name, row);
        if (!problem) return true;
        leftOut ??= new Map();
        leftOut.set(nameOf(row), leftOutOf(row, problem));
        return false;
      };
      const rows = await read(isKept);
      return leftOut ? withLeftOut(rows, [...leftOut.values()]) : rows;
    }

    function find(where: Where, page?: Page): Promise<readonly R[]> {
      try {
        checkTexts(Object.values(where).flat());
        if (page?.after !== undefined) checkTexts([page.after]);
      } catch (refusal) {
        return Promise.reject(refusal);
      }
      return naming((isKept) => findKept(all, where, page, isKept));
    }

    const range = (given: Range): Promise<readonly R[]> => naming((isKept) => rangeKept(rows, given, isKept));

    async function updateAny(id: string, change: (row: R) => Unsaved<R>): Promise<R | undefined> {
      checkTexts([id]);
      const update = rows.update(id, (row) => {
        const next = change(row);
        return next === row ? row : written(next);
      });
      return update.catch(failed);
    }

    async function update(id: string, change: (row: R) => Unsaved<R>): Promise<R | undefined> {
      const after = await updateAny(id, (row) => {
        if (!isGood(name, row)) throw new IdpError('record_unreadable', { collection: name, id });
        return change(row);
      });
      return after && known(after);
    }

    async function insert(row: Unsaved<R>): Promise<R> {
      return known(await rows.insert(written(row)).catch(failed));
    }

    async function put(row: Unsaved<R>): Promise<R> {
      return known(await rows.put(written(row)).catch(failed));
    }

    return {
      async get(id) {
        checkTexts([id]);
        const row = await rows.get(id);
        if (row === undefined && bad.size > 0) bad.delete(`${name}:${id}`);
        return row !== undefined && isGood(name, row) ? row : undefined;
      },
      find,
      range,
      async has(where) {
        if (typeof where === 'string') return (await rows.get(where)) !== undefined;
        return (await rows.find(where, { limit: 1 })).length > 0;
      },
      async unreadable(id) {
        checkTexts([id]);
        const row = await rows.get(id);
        if (row === undefined) return void bad.delete(`${name}:${id}`);
        const problem = problemOf(name, row);
        return problem && leftOutOf(row, problem);
      },
      insert,
      put,
      update,
      async upsert(id, change) {
        for (;;) {
          try {
            return (await update(id, (row) => change(row, false))) ?? (await insert(change(undefined, false)));
          } catch (error) {
            if (IdpError.is(error, 'record_unreadable')) return put(change(undefined, true));
            if (!IdpError.is(error, 'conflict')) throw error;
          }
        }
      },
      async remove(id, version) {
        checkTexts([id]);
        if (bad.size > 0) bad.delete(`${name}:${id}`);
        return rows.remove(id, version).catch(failed);
      },
      async retire(id, events, isMeant = () => true) {
        checkTexts([id]);
        let isThere = false;
        const removal = rows.update(id, (row) => {
          isThere = isMeant(row);
          const kept = isGood(name, row) ? ((row as Partial<RemovedRow>).pendingEvents ?? []) : [];
          return isThere ? (remainderOf(id, [...kept, ...events], new Date(now())) as unknown as Unsaved<R>) : row;
        });
        await removal.catch(failed);
        if (isThere) tellWork();
        return isThere;
      },
      withRemoved: () => ({
        find: (where, page) => findKept(all, where, page, (row) => isGood(name, row)),
        async update(id, change) {
          const row = await all.update(id, change);
          if ((row as Partial<Outboxed> | undefined)?.outbox !== undefined) tellWork();
          return row;
        },
        remove: (id, version) => all.remove(id, version),
      }),
      withUnreadable: () => ({
        get: (id) => rows.get(id),
        find: (where, page) => rows.find(where, page),
        async update(id, change) {
          const after = await updateAny(id, change);
          return after && (isGood(name, after) ? known(after) : after);
        },
        isReadable: (row) => isGood(name, row),
        problemOf: (row) => problemOf(name, row),
        wrongPath: (row) => wrongPath(name, row),
      }),
    };
  };

  return {
    name: store.name,
    ephemeral: store.ephemeral,
    open: (specs) => store.open(specs),
    collection: <R extends Row>(name: string) => checked(name, store.collection<R>(name)),
    health: () => store.health(),
    close: () => store.close(),
    onWork: (listener) => void listeners.push(listener),
    onUncertain: (listener) => void uncertain.push(listener),
    async recall(rows) {
      const unknown = rows.filter(({ collection, id }) => !bad.has(`${collection}:${id}`));
      await Promise.all(
        unknown.map(async ({ collection, id }) => {
          const row = await store.collection(collection).get(id);
          if (row) problemOf(collection, row);
        }),
      );
    },
    async problems() {
      for (const [key, row] of [...bad].slice(0, LOOKED_AT_AGAIN)) {
        const kept = await store.collection(row.collection).get(row.id);
        const isRepaired = kept === undefined || wrongPath(row.collection, kept) === undefined;
        bad.delete(key);
        if (!isRepaired) bad.set(key, row);
      }
      return [...bad.values()];
    },
  };
}

/** Returns the id as a text. Another program may have written an id of another type. */
const nameOf = ({ id }: { readonly id: unknown }): string =>
  typeof id === 'string' ? id : inspect(id, { breakLength: Number.POSITIVE_INFINITY });

const leftOutOf = (row: Row, { path }: UnreadableRow): LeftOutRow => ({
  id: nameOf(row),
  tid: (row as { readonly tid?: unknown }).tid,
  path,
});

const tidOf = (row: object): { readonly tid?: string } => {
  const { tid } = row as { readonly tid?: unknown };
  return typeof tid === 'string' && tid !== '' ? { tid: tid.slice(0, 200) } : {};
};

/** Refuses an id that is no string, because a store might take an object for a query. */
function checkTexts(values: readonly unknown[]): void {
  if (values.some((value) => typeof value !== 'string')) throw new IdpError('invalid_record', { path: '/id', expected: 'a string' });
}
