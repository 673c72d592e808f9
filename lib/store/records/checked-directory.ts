/** A directory that checks each row that it reads. A malformed row is left out, so that the other rows can be used. */
import { IdpError } from '../../errors.js';
import type { Collection, DirectoryStore, Page, Row, Unsaved, Where } from '../directory-store.js';
import { hasOutbox, leavesRemainders } from './collections.js';
import { withKeys } from './derived-keys.js';
import { type LeftOutRow, withLeftOut } from './left-out.js';
import type { Outboxed, PendingEvent, SweptRow } from './records.js';
import { findKept, isRemoved, type RemovedRow, rangeKept, remainderOf, withoutRemoved } from './removed-rows.js';
import { idTextOf, leftOutRowOf, type UnreadableRow, UnreadableRows, type UnreadableRowsParts } from './unreadable-rows.js';

export interface CheckedCollection<R extends Row> extends Collection<R> {
  /** Returns whether there is a row, readable or not. A row that is left out still occupies its id and its unique values. */
  has(where: string | Where): Promise<boolean>;
  /** Returns the problem of the row; undefined for a sound row, and where there is none. */
  unreadable(id: string): Promise<LeftOutRow | undefined>;
  /**
   * Updates the row by compare-and-swap, as `update` does. Inserts the row where there is none, and replaces a row that is left out. For
   * collections without unique indexes.
   */
  upsert(id: string, change: (row: R | undefined, isUnreadable: boolean) => Unsaved<R>): Promise<R>;
  /**
   * Removes the row and raises its events in one write. The remainder of the row carries the events until they are dispatched.
   * @param isMeant returns false for a row that the caller must not see
   * @returns true when there was a row
   */
  retire(id: string, events: readonly PendingEvent[], isMeant?: (row: R) => boolean): Promise<boolean>;
  /** Returns the collection with the remainders of removed rows, for the dispatcher of events. */
  withRemoved(): Pick<Collection<R>, 'find' | 'update' | 'remove'>;
  /**
   * Returns the collection with the rows that are left out, for removals and repairs. Any member of these rows may be malformed, except the
   * members of the index. Rows that are written are readable.
   */
  withUnreadable(): Pick<Collection<R>, 'get' | 'find' | 'update'> & {
    isReadable(row: R): boolean;
    problemOf(row: R): UnreadableRow | undefined;
    /** Returns a JSON Pointer to the first malformed part. Nothing is remembered. */
    readonly wrongPath: (row: R) => string | undefined;
  };
}

export interface CheckedDirectory extends DirectoryStore {
  collection<R extends Row>(name: string): CheckedCollection<R>;
  /**
   * Calls the listener with the collection of each write of this node that leaves background work. Background work is the dispatch of events
   * in a row, or the removal of a tenant.
   */
  onWork(listener: (collection: string) => void): void;
  /**
   * Calls the listener after each write of this node, except a write that only removes events. The write is answered when the returned
   * promise resolves.
   */
  onWrite(listener: WriteListener): void;
  /** Returns the rows that their last read left out. Some of these rows are read again, because an operator may have repaired them. */
  problems(): Promise<readonly UnreadableRow[]>;
  /** Reads rows that another node found unreadable, and that {@link problems} does not name yet. */
  recall(rows: readonly SweptRow[]): Promise<void>;
}

export interface CheckedDirectoryParts
  extends Pick<UnreadableRowsParts, 'logger'>,
    Partial<Pick<UnreadableRowsParts, 'wrongPathOfExtension'>> {
  /** Returns the time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
}

type Listener = (collection: string) => void;

export interface Write {
  readonly collection: string;
  readonly id: string;
  /**
   * Whether the content of the row is unknown. A write that failed with `store_unavailable` may have reached the store. After a write that
   * failed with `record_unreadable`, a cache may still have the row as it was when it was readable.
   */
  readonly isUnknown: boolean;
  /** Whether the row differs in its events alone, which no cache shows. */
  readonly isOfEvents: boolean;
  /** Whether the write left background work: events to dispatch, or a tenant to remove. True if that is unknown. */
  readonly leavesWork: boolean;
}

/** Handles a write. The returned promise must not reject. */
export type WriteListener = (write: Write) => Promise<void> | undefined;

/** A collection, with the parts that the checks of all collections share. */
interface Scope<R extends Row> {
  readonly name: string;
  /** The rows of the store, with the remainders of removed rows. */
  readonly all: Collection<R>;
  /** The rows of the store, without the remainders of removed rows. */
  readonly rows: Collection<R>;
  readonly unreadable: UnreadableRows;
  readonly workListeners: readonly Listener[];
  readonly writeListeners: readonly WriteListener[];
  readonly now: () => number;
}

export function createCheckedDirectory(
  store: DirectoryStore,
  { logger, now, wrongPathOfExtension = () => undefined }: CheckedDirectoryParts,
): CheckedDirectory {
  const unreadable = new UnreadableRows({ store, logger, wrongPathOfExtension });
  const workListeners: Listener[] = [];
  const writeListeners: WriteListener[] = [];
  return {
    name: store.name,
    ephemeral: store.ephemeral,
    open: (specs) => store.open(specs),
    collection<R extends Row>(name: string) {
      const all = store.collection<R>(name);
      const rows = leavesRemainders(name) ? withoutRemoved(all) : all;
      return checkedCollection({ name, all, rows, unreadable, workListeners, writeListeners, now });
    },
    health: () => store.health(),
    close: () => store.close(),
    onWork: (listener) => void workListeners.push(listener),
    onWrite: (listener) => void writeListeners.push(listener),
    recall: (rows) => unreadable.recall(rows),
    problems: () => unreadable.recheck(),
  };
}

const checkedCollection = <R extends Row>(scope: Scope<R>): CheckedCollection<R> => ({
  get: (id) => get(scope, id),
  find: (where, page) => find(scope, where, page),
  range: (range) => notingLeftOut(scope, (isSound) => rangeKept(scope.rows, range, isSound)),
  has: (where) => has(scope, where),
  unreadable: (id) => leftOut(scope, id),
  insert: (row) => insert(scope, row),
  put: (row) => put(scope, row),
  update: (id, change) => update(scope, id, change),
  upsert: (id, change) => upsert(scope, id, change),
  remove: (id, version) => remove(scope, id, version),
  retire: (id, events, isMeant) => retire(scope, id, events, isMeant),
  withRemoved: () => withRemoved(scope),
  withUnreadable: () => withUnreadable(scope),
});

async function get<R extends Row>({ name, rows, unreadable }: Scope<R>, id: string): Promise<R | undefined> {
  checkTexts([id]);
  const row = await rows.get(id);
  if (row === undefined) unreadable.forget(name, id);
  return row !== undefined && unreadable.isSound(name, row) ? row : undefined;
}

async function has<R extends Row>({ rows }: Scope<R>, where: string | Where): Promise<boolean> {
  if (typeof where === 'string') return (await rows.get(where)) !== undefined;
  return (await rows.find(where, { limit: 1 })).length > 0;
}

async function leftOut<R extends Row>({ name, rows, unreadable }: Scope<R>, id: string): Promise<LeftOutRow | undefined> {
  checkTexts([id]);
  const row = await rows.get(id);
  if (row === undefined) return void unreadable.forget(name, id);
  const problem = unreadable.problemOf(name, row);
  return problem && leftOutRowOf(row, problem);
}

async function find<R extends Row>(scope: Scope<R>, where: Where, page?: Page): Promise<readonly R[]> {
  checkTexts(Object.values(where).flat());
  if (page?.after !== undefined) checkTexts([page.after]);
  return notingLeftOut(scope, (isSound) => findKept(scope.all, where, page, isSound));
}

/** Reads rows, and remembers which rows were left out. Remainders of removed rows are left out and not remembered. */
async function notingLeftOut<R extends Row>(
  { name, unreadable }: Scope<R>,
  read: (isSound: (row: R) => boolean) => Promise<readonly R[]>,
): Promise<readonly R[]> {
  let leftOutRows: Map<string, LeftOutRow> | undefined;
  const isSound = (row: R): boolean => {
    if (hasOutbox(name) && isRemoved(row)) return false;
    const problem = unreadable.problemOf(name, row);
    if (!problem) return true;
    leftOutRows ??= new Map();
    leftOutRows.set(idTextOf(row), leftOutRowOf(row, problem));
    return false;
  };
  const rows = await read(isSound);
  return leftOutRows ? withLeftOut(rows, [...leftOutRows.values()]) : rows;
}

/** Returns the row with its derived members, after a check that the row will be readable. @throws IdpError `invalid_record` */
function writable<R extends Row>({ name, unreadable }: Scope<R>, given: Unsaved<R>): Unsaved<R> {
  const row = withKeys(name, given);
  const path = unreadable.wrongPath(name, { ...row, version: 1 });
  if (path === undefined) return row;
  throw new IdpError('invalid_record', { path, expected: 'a value that can be stored' });
}

/** The row of an update before and after the change. The members that the change keeps are the same values. */
interface Change {
  readonly before: object;
  readonly after: object;
}

/** Remembers a written row as sound, and notifies listeners. @param change undefined for a new row */
async function written<R extends Row>(scope: Scope<R>, row: R, change?: Change): Promise<R> {
  scope.unreadable.acceptWritten(scope.name, row);
  if (isOutboxed(row) || scope.name === 'removals') notifyOfWork(scope);
  await notifyOfChange(scope, row.id, change ?? { before: {}, after: row });
  return row;
}

/** Notifies listeners of a write, unless the write only removed events or changed nothing. */
async function notifyOfChange<R extends Row>(scope: Scope<R>, id: string, { before, after }: Change): Promise<void> {
  if (before === after) return;
  const isOfEvents = isOfEventsAlone(before, after);
  const leavesWork = scope.name === 'removals' || (isOutboxed(after) && hasNewEvents(before, after));
  if (!isOfEvents || leavesWork) await notifyOfWrite(scope, { id, isOfEvents, leavesWork });
}

/** Returns whether the write left an event that no earlier write left. */
function hasNewEvents(before: Partial<Outboxed>, after: Partial<Outboxed>): boolean {
  const idsOf = ({ pendingEvents }: Partial<Outboxed>) =>
    Array.isArray(pendingEvents) ? pendingEvents.map((event: Partial<PendingEvent> | null) => event?.id) : [];
  const earlier = new Set(idsOf(before));
  return before.outbox === undefined || idsOf(after).some((id) => !earlier.has(id));
}

/** Members that the dispatcher of events writes, and members that each write changes. */
const ofEvents: ReadonlySet<string> = new Set(['pendingEvents', 'outbox', 'version']);

/**
 * Returns whether the rows differ in their events alone, which no cache shows. A write of the dispatcher is such a write, and so is an event
 * that changes no record.
 */
function isOfEventsAlone(before: object, after: object): boolean {
  const [one, other] = [before, after] as Readonly<Record<string, unknown>>[];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  for (const name of names) if (!ofEvents.has(name) && one?.[name] !== other?.[name]) return false;
  return true;
}

const isOutboxed = (row: object | undefined): boolean => (row as Partial<Outboxed> | undefined)?.outbox !== undefined;

function notifyOfWork<R extends Row>({ name, workListeners }: Scope<R>): void {
  for (const listener of workListeners) listener(name);
}

async function notifyOfWrite<R extends Row>(
  { name, writeListeners }: Scope<R>,
  { id, isUnknown = false, isOfEvents = false, leavesWork = isUnknown }: Pick<Write, 'id'> & Partial<Write>,
): Promise<void> {
  for (const listener of writeListeners) await listener({ collection: name, id, isUnknown, isOfEvents, leavesWork });
}

/**
 * Returns a handler that throws the error of a write. If the content of the row is unknown after the error, the handler first notifies the
 * listeners.
 */
const rethrown =
  <R extends Row>(scope: Scope<R>, id: string) =>
  async (error: unknown): Promise<never> => {
    if (IdpError.is(error, 'store_unavailable', 'record_unreadable')) await notifyOfWrite(scope, { id, isUnknown: true });
    throw error;
  };

async function insert<R extends Row>(scope: Scope<R>, row: Unsaved<R>): Promise<R> {
  return written(scope, await scope.rows.insert(writable(scope, row)).catch(rethrown(scope, row.id)));
}

async function put<R extends Row>(scope: Scope<R>, row: Unsaved<R>): Promise<R> {
  return written(scope, await scope.rows.put(writable(scope, row)).catch(rethrown(scope, row.id)));
}

async function update<R extends Row>(scope: Scope<R>, id: string, change: (row: R) => Unsaved<R>): Promise<R | undefined> {
  const { name, unreadable } = scope;
  return updateAny(scope, id, (row) => {
    if (!unreadable.isSound(name, row)) throw new IdpError('record_unreadable', { collection: name, id });
    return change(row);
  });
}

/** Updates a row, readable or not. */
async function updateAny<R extends Row>(scope: Scope<R>, id: string, change: (row: R) => Unsaved<R>): Promise<R | undefined> {
  checkTexts([id]);
  let made: Change | undefined;
  const updating = scope.rows.update(id, (before) => {
    const after = change(before);
    made = { before, after };
    return after === before ? before : writable(scope, after);
  });
  const row = await updating.catch(rethrown(scope, id));
  return row && made && (made.before !== made.after || scope.unreadable.isSound(scope.name, row)) ? written(scope, row, made) : row;
}

async function upsert<R extends Row>(scope: Scope<R>, id: string, change: Parameters<CheckedCollection<R>['upsert']>[1]): Promise<R> {
  for (;;) {
    try {
      return (await update(scope, id, (row) => change(row, false))) ?? (await insert(scope, change(undefined, false)));
    } catch (error) {
      if (IdpError.is(error, 'record_unreadable')) return put(scope, change(undefined, true));
      if (!IdpError.is(error, 'conflict')) throw error;
    }
  }
}

async function remove<R extends Row>(scope: Scope<R>, id: string, version?: number): Promise<boolean> {
  checkTexts([id]);
  scope.unreadable.forget(scope.name, id);
  const wasThere = await scope.rows.remove(id, version).catch(rethrown(scope, id));
  if (wasThere) await notifyOfWrite(scope, { id });
  return wasThere;
}

async function retire<R extends Row>(
  scope: Scope<R>,
  id: string,
  events: readonly PendingEvent[],
  isMeant: (row: R) => boolean = () => true,
): Promise<boolean> {
  const { name, rows, unreadable, now } = scope;
  checkTexts([id]);
  let isThere = false;
  const removal = rows.update(id, (row) => {
    isThere = isMeant(row);
    const earlier = unreadable.isSound(name, row) ? ((row as Partial<RemovedRow>).pendingEvents ?? []) : [];
    return isThere ? (remainderOf(id, [...earlier, ...events], new Date(now())) as unknown as Unsaved<R>) : row;
  });
  await removal.catch(rethrown(scope, id));
  if (!isThere) return false;
  notifyOfWork(scope);
  await notifyOfWrite(scope, { id, leavesWork: true });
  return true;
}

const withRemoved = <R extends Row>(scope: Scope<R>): ReturnType<CheckedCollection<R>['withRemoved']> => ({
  find: (where, page) => findKept(scope.all, where, page, (row) => scope.unreadable.isSound(scope.name, row)),
  async update(id, change) {
    let made: Change | undefined;
    const updating = scope.all.update(id, (before) => {
      const after = change(before);
      made = { before, after };
      return after;
    });
    const row = await updating.catch(rethrown(scope, id));
    if (isOutboxed(row)) notifyOfWork(scope);
    if (row && made) await notifyOfChange(scope, id, made);
    return row;
  },
  remove: (id, version) => scope.all.remove(id, version),
});

function withUnreadable<R extends Row>(scope: Scope<R>): ReturnType<CheckedCollection<R>['withUnreadable']> {
  const { name, rows, unreadable } = scope;
  return {
    get: (id) => rows.get(id),
    find: (where, page) => rows.find(where, page),
    update: (id, change) => updateAny(scope, id, change),
    isReadable: (row) => unreadable.isSound(name, row),
    problemOf: (row) => unreadable.problemOf(name, row),
    wrongPath: (row) => unreadable.wrongPath(name, row),
  };
}

/** Refuses an id that is not a string, because a store might read an object as a query. */
function checkTexts(values: readonly unknown[]): void {
  if (values.some((value) => typeof value !== 'string')) throw new IdpError('invalid_record', { path: '/id', expected: 'a string' });
}
