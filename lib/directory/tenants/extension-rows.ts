/** Rows of extensions: a collection by declaration, tenant by tenant. */
import type { Static, TObject } from '@sinclair/typebox';
import { IdpError } from '../../errors.js';
import type { Caches } from '../../store/caches/cache.js';
import type { Page, Range, Where } from '../../store/directory-store.js';
import type { CheckedCollection, CheckedDirectory } from '../../store/records/checked-directory.js';
import { type LeftOutRow, leftOutOf, withLeftOut } from '../../store/records/left-out.js';
import type { EventRecord } from '../../store/records/records.js';
import { findKept } from '../../store/records/removed-rows.js';
import { isPendingEvent } from '../../store/records/row-checks.js';
import { newId } from '../identifiers.js';
import { withUnknown } from '../lists/known-part.js';
import { attributedEvent } from '../outbox/attribution.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import { type IsLogged, insertOnce, type MarkedWrite, markedWrite, updateOnce } from '../outbox/write-once.js';
import { createCachedRows, telling } from './cached-rows.js';
import {
  type CachedRows,
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
import { createTenantScope } from './tenant-scope.js';

/** Rows of the collections of all extensions. */
export interface ExtensionData {
  /** @throws TypeError for a collection that no extension declared. */
  rows<Schema extends TObject>(collection: ExtensionCollection<Schema>, tid: string): ExtensionRows<Static<Schema>>;
  /** The rows of all tenants and of the instance. @throws TypeError for a collection that no extension declared. */
  ofAllTenants<Schema extends TObject>(collection: ExtensionCollection<Schema>): RowsOfAllTenants<Static<Schema>>;
  /**
   * Rows that every node keeps until one is written. @param index for `findAll`; the rows of a tenant by default
   * @throws TypeError for a collection that no extension declared, or that is not declared as `cached`
   */
  cached<Schema extends TObject>(collection: ExtensionCollection<Schema>, index?: string): CachedRows<Static<Schema>>;
  /** Whether anything is to be erased with a person. */
  readonly hasErasure: boolean;
  /** @param person with `keepsPerson` where the user alone is gone */
  erase(person: PersonRef & { readonly keepsPerson?: boolean }): Promise<void>;
  /** By collection. */
  export(person: PersonRef): Promise<Readonly<Record<string, readonly object[]>>>;
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

/** The rows, with a list of the rows that their reads leave out. */
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

/** The extension's own members of a row that is written. @throws IdpError `invalid_record` */
function checkedMembers(collection: ExtensionCollection, given: object): object {
  const { pendingEvents: _, outbox: __, id: ___, version: ____, tid: _____, ...members } = given as Partial<KeptRow>;
  const path = wrongWritten(collection, members);
  if (path !== undefined) throw new IdpError('invalid_record', { path, expected: 'what can be stored' });
  return members;
}

export interface ExtensionDataParts {
  readonly store: CheckedDirectory;
  readonly collections: readonly ExtensionCollection[];
  readonly caches: Pick<Caches, 'over' | 'changed'>;
  /** Types of events that extensions declare. */
  readonly events: ReadonlySet<string>;
  /** The time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
}

export function createExtensionData({ store, collections, events: declaredEvents, caches, now }: ExtensionDataParts): ExtensionData {
  const declared = new Map(collections.map((collection) => [collection.name, collection]));
  const keptRows = ({ name }: ExtensionCollection) => store.collection(name) as unknown as CheckedCollection<KeptRow>;
  const isLogged: IsLogged = (id) => store.collection<EventRecord>('events').has({ byEvent: [id] });
  /** The write of events to a row, if the request of the first event may be run again. */
  const markedBy = ({ name }: ExtensionCollection, id: string, [event]: readonly RowEvent[]) =>
    markedWrite(event?.by?.once, [name, id], isLogged);

  /** The row with the events in it, where the collection has events. */
  function withRaised<R extends KeptRow>(
    { name, events }: ExtensionCollection,
    row: R,
    tid: string,
    raised: readonly RowEvent[],
    write?: MarkedWrite,
  ): R {
    if (!events && raised.length > 0) throw new TypeError(`the collection ${name} has no events`);
    if (!events) return row;
    for (const { type } of raised) if (!declaredEvents.has(type)) throw new TypeError(`no extension declares the event ${type}`);
    const kept = { ...row, pendingEvents: row.pendingEvents ?? [] };
    return raised.length === 0
      ? kept
      : withEvents(
          kept,
          ...raised.map(({ id: given, type, data, by = {} }, index) => {
            const event = pendingEvent(now, type, tid === OF_INSTANCE ? undefined : tid, data);
            const id = given ?? write?.eventId(index);
            return attributedEvent(id === undefined ? event : { ...event, id }, by);
          }),
        );
  }

  function rows<Schema extends TObject>(given: ExtensionCollection<Schema>, tid: string): ExtensionRows<Static<Schema>> {
    const collection = given as unknown as ExtensionCollection;
    if (declared.get(given.name) !== collection) throw new TypeError(`no extension declares the collection ${given.name}`);
    if (typeof tid !== 'string' || tid === '') throw new TypeError(`${given.name}: rows are of a tenant`);
    const kept = keptRows(collection);
    const scope = createTenantScope<KeptRow>(kept, specOf(collection), tid);
    const shown = (row: KeptRow) => shownOf(collection, row);
    const find = async (index: string, values: readonly string[], page?: Page) =>
      shownRows(collection, await scope.find(index, values, page));
    const own = {
      async get(id: string) {
        const row = await scope.get(id);
        return row && shown(row);
      },
      find,
      findAll: (index: string, values: readonly string[]) =>
        findAll(
          collection,
          { [index]: specOf(collection).indexes[index]?.fields[0] === 'tid' ? [tid, ...values] : values },
          ({ tid: owner }) => owner === tid,
        ),
      range: async (range: Range) => shownRows(collection, await scope.range(range)),
      list: (page?: Page) => find(TENANT_INDEX, [], page),
      async insert(members: object, { id = newId(), events = [] }: { readonly id?: string; readonly events?: readonly RowEvent[] } = {}) {
        const own = checkedMembers(collection, members);
        const fresh = { ...own, id, tid } as KeptRow;
        const write = markedBy(collection, id, events);
        const insert = () => insertOnce(scope, id, () => scope.insert(withRaised(collection, fresh, tid, events, write)), write);
        const row = collection.events
          ? ((await insert().catch(IdpError.unless('conflict'))) ?? (await replaceRemainder(collection, fresh, events)) ?? (await insert()))
          : await insert();
        return shown(row);
      },
      async update(
        id: string,
        change: (row: object) => object,
        events: readonly RowEvent[] | ((before: object) => readonly RowEvent[]) = [],
      ) {
        // Events that depend on the row are those of a change that is none the second time.
        const write = typeof events === 'function' ? undefined : markedBy(collection, id, events);
        const changeRow = (current: KeptRow) => {
          const before = shown(current);
          const next = change(before);
          const raised = typeof events === 'function' ? events(before) : events;
          if (next === before && raised.length === 0) return current;
          const { pendingEvents = undefined, outbox = undefined, ...stored } = current;
          const outboxed = { ...(pendingEvents && { pendingEvents }), ...(outbox && { outbox }) };
          const members = withUnknown(collection.row, stored, {
            ...checkedMembers(collection, next),
            id,
            version: current.version,
            tid,
          }) as KeptRow;
          return withRaised(collection, { ...members, ...outboxed }, tid, raised, write);
        };
        const row = await updateOnce(scope, id, changeRow, write);
        return shown(row);
      },
      async remove(id: string, events: readonly RowEvent[] = []) {
        if (!collection.events) {
          if (events.length > 0) throw new TypeError(`the collection ${collection.name} has no events`);
          return scope.remove(id);
        }
        if (!(await leaveRemainder(collection, id, tid, events))) throw new IdpError('not_found');
      },
      async redact(id: string, eventIds: readonly string[], members: readonly string[]) {
        const { pendingEvents = [] } = (await scope.get(id)) ?? {};
        if (pendingEvents.some((event) => eventIds.includes(event.id))) throw new IdpError('busy');
        const records = store.collection<EventRecord>('events');
        for (const eventId of eventIds)
          for (const record of await records.find({ byEvent: [eventId] }))
            if (record.tid === tid)
              await records.update(record.id, (row) => ({
                ...row,
                data: Object.fromEntries(Object.entries(row.data).filter(([member]) => !members.includes(member))) as typeof row.data,
              }));
      },
    };
    return telling(collection, own as unknown as ExtensionRows<Static<Schema>>, caches);
  }

  /** Rows of an index of the store, and the ids of those that cannot be read. */
  async function findAll(collection: ExtensionCollection, where: Where, isMeant: (row: KeptRow) => boolean = () => true) {
    const all = keptRows(collection).withUnreadable();
    const found = await all.find(where);
    return {
      rows: found.filter((row) => all.isReadable(row) && isMeant(row)).map((row) => shownOf(collection, row)),
      unreadable: found.filter((row) => !all.isReadable(row)).map(({ id }) => id),
    };
  }

  /** Takes a row away; what stays carries its last events, belongs to no tenant, and goes with them. False when there is none. */
  async function leaveRemainder(collection: ExtensionCollection, id: string, tid: string, events: readonly RowEvent[]): Promise<boolean> {
    let isThere = false;
    const kept = keptRows(collection);
    const left = await kept.withRemoved().update(id, (row) => {
      // A row whose tenant cannot be read belongs to no tenant. The rest of a removed row can be read.
      const isNobodys = typeof row.tid !== 'string' || (row.tid === '' && !kept.withUnreadable().isReadable(row));
      isThere = row.tid === tid || isNobodys;
      if (!isThere) return row;
      const { version, pendingEvents: raised } = row;
      // A row that cannot be read may have anything here.
      const pendingEvents = Array.isArray(raised) ? raised.filter(isPendingEvent) : [];
      // Even without events: if the node stops right after this, the outbox removes the rest of the row.
      return withRaised(collection, { id, version, tid: '', pendingEvents, outbox: 'yes' }, tid, events);
    });
    if (isThere && left?.pendingEvents?.length === 0) await kept.remove(id, left.version);
    return isThere;
  }

  /** Puts a row in the place of a removed one, whose last events it carries on. Undefined when there is none any more, or another row has the id. */
  async function replaceRemainder(
    collection: ExtensionCollection,
    row: KeptRow,
    events: readonly RowEvent[],
  ): Promise<KeptRow | undefined> {
    let isFree = false;
    const written = await keptRows(collection).update(row.id, (current) => {
      isFree = current.tid === '';
      const { pendingEvents = [] } = current;
      return isFree ? withRaised(collection, { ...row, pendingEvents, outbox: 'yes' }, row.tid, events) : current;
    });
    return isFree ? written : undefined;
  }

  const data: ExtensionData = {
    rows,
    ofAllTenants<Schema extends TObject>(given: ExtensionCollection<Schema>) {
      const collection = given as unknown as ExtensionCollection;
      if (declared.get(given.name) !== collection) throw new TypeError(`no extension declares the collection ${given.name}`);
      return {
        async get(id: string) {
          const row = await keptRows(collection).get(id);
          return row === undefined || row.tid === '' ? undefined : shownOf(collection, row);
        },
        list: async (page?: Page) => shownRows(collection, await findKept(keptRows(collection), {}, page, ({ tid }) => tid !== '')),
        find: async (index: string, values: readonly string[], page?: Page) =>
          shownRows(collection, await keptRows(collection).find({ [index]: values }, page)),
        findAll: (index: string, values: readonly string[]) => findAll(collection, { [index]: values }),
        range: async (range: Range) => shownRows(collection, await keptRows(collection).range(range)),
      } as unknown as RowsOfAllTenants<Static<Schema>>;
    },
    cached: (collection, index) =>
      createCachedRows({
        collection: collection as unknown as ExtensionCollection,
        index,
        caches,
        all: data.ofAllTenants(collection),
        of: (tid) => rows(collection, tid),
      }),
    hasErasure: collections.some(({ erase, userRemoved }) => (erase ?? userRemoved) !== undefined),
    async erase({ keepsPerson = false, tid, personId, userId }) {
      const person = { tid, personId, ...(userId !== undefined && { userId }) };
      for (const collection of collections) {
        const own = rows(collection, tid);
        if (!keepsPerson) await collection.erase?.(own, person, new Date(now()));
        else if (userId !== undefined) await collection.userRemoved?.(own, { ...person, userId }, new Date(now()));
      }
    },
    async export(person) {
      const parts: Record<string, readonly object[]> = {};
      for (const collection of collections)
        if (collection.export) {
          const { noted, leftOut } = notingLeftOut(rows(collection, person.tid));
          parts[collection.name] = withLeftOut(await collection.export(noted, person), leftOut);
        }
      return parts;
    },
    async removeTenant(tid) {
      for (const collection of collections) {
        await collection.tenantRemoved?.(rows(collection, tid), tid);
        const all = keptRows(collection).withUnreadable();
        for (;;) {
          const page = await all.find({ [TENANT_INDEX]: [tid] }, { limit: PAGE });
          for (const row of page)
            if (collection.events && all.isReadable(row)) await leaveRemainder(collection, row.id, tid, []);
            else await keptRows(collection).remove(row.id);
          if (page.length < PAGE) break;
        }
        if (collection.cached) await caches.changed(collection.name);
      }
    },
  };
  return data;
}
