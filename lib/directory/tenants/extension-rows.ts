/** Rows of extensions: the rows of a declared collection, of one tenant or of all tenants. */
import type { Static, TObject } from '@sinclair/typebox';
import { IdpError } from '../../errors.js';
import type { Caches } from '../../store/caches/cache.js';
import type { Page, Range, Where } from '../../store/directory-store.js';
import type { CheckedCollection, CheckedDirectory } from '../../store/records/checked-directory.js';
import { type LeftOutRow, leftOutOf, withLeftOut } from '../../store/records/left-out.js';
import type { EventRecord } from '../../store/records/records.js';
import { findKept } from '../../store/records/removed-rows.js';
import { isPendingEvent } from '../../store/records/row-checks.js';
import type { ExportReader } from '../context.js';
import { newId } from '../identifiers.js';
import { withUnknown } from '../lists/known-part.js';
import { attributedEvent } from '../outbox/attribution.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import { type IsLogged, insertOnce, type MarkedWrite, markedWrite, updateOnce } from '../outbox/write-once.js';
import { createCachedRows } from './cached-rows.js';
import {
  type CachedRows,
  checkIndex,
  checkLookUp,
  type ExtensionCollection,
  type ExtensionRows,
  type KeptRow,
  OF_INSTANCE,
  type PersonRef,
  type RowEvent,
  type RowsOfAllTenants,
  shownOf,
  specOf,
  TENANT_INDEX,
  wrongWritten,
} from './extension-collections.js';
import { createTenantScope, isWithinTenant, type TenantScope } from './tenant-scope.js';

/** Rows of the collections of all extensions. */
export interface ExtensionData {
  /** Returns the rows of one tenant. @throws TypeError for a collection that no extension declared. */
  rows<Schema extends TObject>(collection: ExtensionCollection<Schema>, tid: string): ExtensionRows<Static<Schema>>;
  /** Returns the rows of all tenants and of the instance. @throws TypeError for a collection that no extension declared. */
  ofAllTenants<Schema extends TObject>(collection: ExtensionCollection<Schema>): RowsOfAllTenants<Static<Schema>>;
  /**
   * Returns rows that each node caches until any node writes one.
   * @param index for `findAll`. @default the index of the rows of a tenant
   * @throws TypeError for a collection that no extension declared, or that is not declared as `cached`
   */
  cached<Schema extends TObject>(collection: ExtensionCollection<Schema>, index?: string): CachedRows<Static<Schema>>;
  /** Whether any collection has data to erase with a person. */
  readonly hasErasure: boolean;
  /** Erases the data of a person, or of its user. @param person with `keepsPerson` where only the user was removed */
  erase(person: PersonRef & { readonly keepsPerson?: boolean }): Promise<void>;
  /** Returns the data of a person by collection. @param reader @default 'administrator' */
  export(person: PersonRef, reader?: ExportReader): Promise<Readonly<Record<string, readonly object[]>>>;
  /** Removes all rows of a tenant. */
  removeTenant(tid: string): Promise<void>;
}

const PAGE = 100;

/** Returns the rows as the extension gets them, with the rows that the read left out. */
const shownRows = (collection: ExtensionCollection, rows: readonly KeptRow[]) =>
  withLeftOut(
    rows.map((row) => shownOf(collection, row)),
    leftOutOf(rows),
  );

/** Returns the rows, with a list that collects the rows that their reads leave out. */
function notingLeftOut<Members>(rows: ExtensionRows<Members>) {
  const leftOut: LeftOutRow[] = [];
  const noting =
    <Given extends readonly unknown[], Found extends readonly unknown[]>(read: (...given: Given) => Promise<Found>) =>
    async (...given: Given): Promise<Found> => {
      const found = await read(...given);
      leftOut.push(...leftOutOf(found));
      return found;
    };
  return { noted: { ...rows, find: noting(rows.find), range: noting(rows.range), list: noting(rows.list) }, leftOut };
}

/** Returns the extension's own members of a row to write. @throws IdpError `invalid_record` */
function checkedMembers(collection: ExtensionCollection, given: object): object {
  const { pendingEvents: _, outbox: __, id: ___, version: ____, tid: _____, ...members } = given as Partial<KeptRow>;
  const path = wrongWritten(collection, members);
  if (path !== undefined) throw new IdpError('invalid_record', { path, expected: 'a value that can be stored' });
  return members;
}

export interface ExtensionDataParts {
  readonly store: CheckedDirectory;
  readonly collections: readonly ExtensionCollection[];
  readonly caches: Pick<Caches, 'over' | 'watch'>;
  /** Types of events that extensions declare. */
  readonly events: ReadonlySet<string>;
  /** Returns the time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
}

/** Parts that the rows of all collections share. */
interface Shared extends ExtensionDataParts {
  readonly declared: ReadonlyMap<string, ExtensionCollection>;
  /** Returns whether the log has an event. */
  readonly isLogged: IsLogged;
}

export function createExtensionData(parts: ExtensionDataParts): ExtensionData {
  const { store, collections, caches } = parts;
  // Other nodes may cache the rows, even if this node does not.
  for (const { name, cached } of collections) if (cached) caches.watch(name, () => {});
  const shared: Shared = {
    ...parts,
    declared: new Map(collections.map((collection) => [collection.name, collection])),
    isLogged: (id) => store.collection<EventRecord>('events').has({ byEvent: [id] }),
  };
  return {
    rows: (collection, tid) => rowsOfTenant(shared, collection, tid),
    ofAllTenants: (collection) => rowsOfAllTenants(shared, collection),
    cached(given, index) {
      const collection = declaredCollection(shared, given);
      if (index !== undefined) checkIndex(specOf(collection), index);
      return createCachedRows({
        collection,
        index,
        caches,
        all: rowsOfAllTenants(shared, given),
        of: (tid) => rowsOfTenant(shared, given, tid),
      });
    },
    hasErasure: collections.some(({ erase, userRemoved }) => (erase ?? userRemoved) !== undefined),
    erase: (person) => erase(shared, person),
    export: (person, reader) => exportOf(shared, person, reader),
    removeTenant: (tid) => removeTenant(shared, tid),
  };
}

const storedRows = ({ store }: Shared, { name }: ExtensionCollection) => store.collection(name) as unknown as CheckedCollection<KeptRow>;

/** Returns the collection as it was declared. @throws TypeError for a collection that no extension declared. */
function declaredCollection<Schema extends TObject>({ declared }: Shared, given: ExtensionCollection<Schema>): ExtensionCollection {
  const collection = given as unknown as ExtensionCollection;
  if (declared.get(given.name) !== collection)
    throw new TypeError(`No extension declares the collection ${given.name}. Add it to collections of the extension.`);
  return collection;
}

function rowsOfAllTenants<Schema extends TObject>(shared: Shared, given: ExtensionCollection<Schema>): RowsOfAllTenants<Static<Schema>> {
  const collection = declaredCollection(shared, given);
  const spec = specOf(collection);
  const rows = storedRows(shared, collection);
  return {
    async get(id: string) {
      const row = await rows.get(id);
      return row === undefined || row.tid === '' ? undefined : shownOf(collection, row);
    },
    list: async (page?: Page) => shownRows(collection, await findKept(rows, {}, page, ({ tid }) => tid !== '')),
    async find(index: string, values: readonly string[], page?: Page) {
      checkLookUp(spec, index, values);
      return shownRows(collection, await rows.find({ [index]: values }, page));
    },
    async findAll(index: string, values: readonly string[]) {
      checkLookUp(spec, index, values);
      return findAll(shared, collection, { [index]: values });
    },
    async range(range: Range) {
      checkIndex(spec, range.index);
      return shownRows(collection, await rows.range(range));
    },
  } as unknown as RowsOfAllTenants<Static<Schema>>;
}

/** The rows of one collection and tenant. */
interface OwnRows {
  readonly shared: Shared;
  readonly collection: ExtensionCollection;
  readonly tid: string;
  readonly scope: TenantScope<KeptRow>;
}

function rowsOfTenant<Schema extends TObject>(
  shared: Shared,
  given: ExtensionCollection<Schema>,
  tid: string,
): ExtensionRows<Static<Schema>> {
  const collection = declaredCollection(shared, given);
  if (typeof tid !== 'string' || tid === '')
    throw new TypeError(`The id of the tenant of ${given.name} is empty, or not a string. Give the id of a tenant.`);
  const spec = specOf(collection);
  const scope = createTenantScope<KeptRow>(storedRows(shared, collection), spec, tid);
  const own: OwnRows = { shared, collection, tid, scope };
  const check = (index: string, values: readonly string[]): void => checkLookUp(spec, index, values, isWithinTenant(spec, index) ? 1 : 0);
  const find = async (index: string, values: readonly string[], page?: Page) => {
    check(index, values);
    return shownRows(collection, await scope.find(index, values, page));
  };
  const rows = {
    async get(id: string) {
      const row = await scope.get(id);
      return row && shownOf(collection, row);
    },
    find,
    async findAll(index: string, values: readonly string[]) {
      check(index, values);
      return findAll(shared, collection, { [index]: isWithinTenant(spec, index) ? [tid, ...values] : values }, (row) => row.tid === tid);
    },
    async range(range: Range) {
      checkIndex(spec, range.index);
      return shownRows(collection, await scope.range(range));
    },
    list: (page?: Page) => find(TENANT_INDEX, [], page),
    insert: (members: object, options?: InsertOptions) => insert(own, members, options),
    update: (id: string, change: (row: object) => object, events?: EventsOfUpdate) => update(own, id, change, events),
    remove: (id: string, events?: readonly RowEvent[]) => remove(own, id, events),
    redact: (id: string, eventIds: readonly string[], members: readonly string[]) => redact(own, id, eventIds, members),
  };
  return rows as unknown as ExtensionRows<Static<Schema>>;
}

interface InsertOptions {
  readonly id?: string;
  readonly events?: readonly RowEvent[];
}

async function insert(own: OwnRows, members: object, { id = newId(), events = [] }: InsertOptions = {}) {
  const { shared, collection, tid, scope } = own;
  const fresh = { ...checkedMembers(collection, members), id, tid } as KeptRow;
  const write = markedBy(own, id, events);
  const insertFresh = () => insertOnce(scope, id, () => scope.insert(withRaised(shared, collection, fresh, tid, events, write)), write);
  const row = collection.events
    ? ((await insertFresh().catch(IdpError.unless('conflict'))) ?? (await replaceRemainder(own, fresh, events)) ?? (await insertFresh()))
    : await insertFresh();
  return shownOf(collection, row);
}

type EventsOfUpdate = readonly RowEvent[] | ((before: object) => readonly RowEvent[]);

async function update(own: OwnRows, id: string, change: (row: object) => object, events: EventsOfUpdate = []) {
  const { shared, collection, tid, scope } = own;
  // Events that depend on the row need no mark, because the change does nothing the second time.
  const write = typeof events === 'function' ? undefined : markedBy(own, id, events);
  const changeRow = (current: KeptRow) => {
    const before = shownOf(collection, current);
    const next = change(before);
    const raised = typeof events === 'function' ? events(before) : events;
    if (next === before && raised.length === 0) return current;
    const { pendingEvents = undefined, outbox = undefined, ...stored } = current;
    const outboxed = { ...(pendingEvents && { pendingEvents }), ...(outbox && { outbox }) };
    const members = { ...checkedMembers(collection, next), id, version: current.version, tid };
    const row = withUnknown(collection.row, stored, members) as KeptRow;
    return withRaised(shared, collection, { ...row, ...outboxed }, tid, raised, write);
  };
  return shownOf(collection, await updateOnce(scope, id, changeRow, write));
}

async function remove({ shared, collection, tid, scope }: OwnRows, id: string, events: readonly RowEvent[] = []): Promise<void> {
  if (collection.events) {
    if (!(await leaveRemainder(shared, collection, id, tid, events))) throw new IdpError('not_found');
    return;
  }
  if (events.length > 0)
    throw new TypeError(`The collection ${collection.name} has no events. Declare it with events: true, or raise none.`);
  await scope.remove(id);
}

async function redact({ shared, tid, scope }: OwnRows, id: string, eventIds: readonly string[], members: readonly string[]): Promise<void> {
  const { pendingEvents = [] } = (await scope.get(id)) ?? {};
  if (pendingEvents.some((event) => eventIds.includes(event.id))) throw new IdpError('busy');
  const log = shared.store.collection<EventRecord>('events');
  for (const eventId of eventIds)
    for (const record of await log.find({ byEvent: [eventId] }))
      if (record.tid === tid)
        await log.update(record.id, (row) => ({
          ...row,
          data: Object.fromEntries(Object.entries(row.data).filter(([member]) => !members.includes(member))) as typeof row.data,
        }));
}

/** Returns the rows of an index of the store, and the ids of unreadable rows. */
async function findAll(shared: Shared, collection: ExtensionCollection, where: Where, isMeant: (row: KeptRow) => boolean = () => true) {
  const all = storedRows(shared, collection).withUnreadable();
  const rows = await all.find(where);
  return {
    rows: rows.filter((row) => all.isReadable(row) && isMeant(row)).map((row) => shownOf(collection, row)),
    unreadable: rows.filter((row) => !all.isReadable(row)).map(({ id }) => id),
  };
}

/** Returns the marked write of events to a row, if the request of the first event may run again. */
const markedBy = ({ shared, collection }: OwnRows, id: string, [event]: readonly RowEvent[]) =>
  markedWrite(event?.by?.once, [collection.name, id], shared.isLogged);

/** Returns the row with the events in it, where the collection has events. */
function withRaised<R extends KeptRow>(
  shared: Shared,
  { name, events }: ExtensionCollection,
  row: R,
  tid: string,
  raised: readonly RowEvent[],
  write?: MarkedWrite,
): R {
  if (!events && raised.length > 0)
    throw new TypeError(`The collection ${name} has no events. Declare it with events: true, or raise none.`);
  if (!events) return row;
  for (const { type } of raised)
    if (!shared.events.has(type)) throw new TypeError(`No extension declares the event ${type}. Add it to events of the extension.`);
  const outboxed = { ...row, pendingEvents: row.pendingEvents ?? [] };
  if (raised.length === 0) return outboxed;
  const pending = raised.map(({ id: given, type, data, by = {} }, index) => {
    const event = pendingEvent(shared.now, type, tid === OF_INSTANCE ? undefined : tid, data);
    const id = given ?? write?.eventId(index);
    return attributedEvent(id === undefined ? event : { ...event, id }, by);
  });
  return withEvents(outboxed, ...pending);
}

/**
 * Removes a row. The remainder of the row carries the last events, belongs to no tenant, and is removed after the events were dispatched.
 * Returns false when there is no row.
 */
async function leaveRemainder(
  shared: Shared,
  collection: ExtensionCollection,
  id: string,
  tid: string,
  events: readonly RowEvent[],
): Promise<boolean> {
  let isThere = false;
  const rows = storedRows(shared, collection);
  const remainder = await rows.withRemoved().update(id, (row) => {
    // A row whose tenant is malformed belongs to no tenant. The remainder of a removed row is readable.
    const isNobodys = typeof row.tid !== 'string' || (row.tid === '' && !rows.withUnreadable().isReadable(row));
    isThere = row.tid === tid || isNobodys;
    if (!isThere) return row;
    const { version, pendingEvents: raised } = row;
    // An unreadable row may have any value here.
    const pendingEvents = Array.isArray(raised) ? raised.filter(isPendingEvent) : [];
    // The mark is set even without events. If the node stops right after this write, the outbox removes the remainder.
    return withRaised(shared, collection, { id, version, tid: '', pendingEvents, outbox: 'yes' }, tid, events);
  });
  if (isThere && remainder?.pendingEvents?.length === 0) await rows.remove(id, remainder.version);
  return isThere;
}

/**
 * Replaces the remainder of a removed row. The new row carries the last events of the remainder. Returns undefined when the remainder no longer
 * exists, or another row has the id.
 */
async function replaceRemainder({ shared, collection }: OwnRows, row: KeptRow, events: readonly RowEvent[]): Promise<KeptRow | undefined> {
  let isFree = false;
  const written = await storedRows(shared, collection).update(row.id, (current) => {
    isFree = current.tid === '';
    const { pendingEvents = [] } = current;
    return isFree ? withRaised(shared, collection, { ...row, pendingEvents, outbox: 'yes' }, row.tid, events) : current;
  });
  return isFree ? written : undefined;
}

async function erase(shared: Shared, { keepsPerson = false, tid, personId, userId }: Parameters<ExtensionData['erase']>[0]): Promise<void> {
  const person = { tid, personId, ...(userId !== undefined && { userId }) };
  for (const collection of shared.collections) {
    const rows = rowsOfTenant(shared, collection, tid);
    if (!keepsPerson) await collection.erase?.(rows, person, new Date(shared.now()));
    else if (userId !== undefined) await collection.userRemoved?.(rows, { ...person, userId }, new Date(shared.now()));
  }
}

async function exportOf(
  shared: Shared,
  person: PersonRef,
  reader: ExportReader = 'administrator',
): Promise<Readonly<Record<string, readonly object[]>>> {
  const parts: Record<string, readonly object[]> = {};
  for (const collection of shared.collections)
    if (collection.export) {
      const { noted, leftOut } = notingLeftOut(rowsOfTenant(shared, collection, person.tid));
      parts[collection.name] = withLeftOut(await collection.export(noted, person, reader), leftOut);
    }
  return parts;
}

async function removeTenant(shared: Shared, tid: string): Promise<void> {
  for (const collection of shared.collections) {
    await collection.tenantRemoved?.(rowsOfTenant(shared, collection, tid), tid);
    const rows = storedRows(shared, collection);
    const all = rows.withUnreadable();
    for (;;) {
      const page = await all.find({ [TENANT_INDEX]: [tid] }, { limit: PAGE });
      for (const row of page)
        if (collection.events && all.isReadable(row)) await leaveRemainder(shared, collection, row.id, tid, []);
        else await rows.remove(row.id);
      if (page.length < PAGE) break;
    }
  }
}
