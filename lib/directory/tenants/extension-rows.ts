/** Rows of extensions: a collection by declaration, tenant by tenant. */
import type { Static, TObject } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { IdpError } from '../../errors.js';
import type { Attribution, EventMap, EventName } from '../../events.js';
import type { CollectionSpec, IndexSpec, Page, Range, Row } from '../../store/directory-store.js';
import type { CheckedCollection, CheckedDirectory } from '../../store/records/checked-directory.js';
import type { EventRecord, Outboxed } from '../../store/records/records.js';
import { findKept } from '../../store/records/removed-rows.js';
import { isPendingEvent } from '../../store/records/row-checks.js';
import { newId } from '../identifiers.js';
import { attributedEvent } from '../outbox/attribution.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import { createTenantScope } from './tenant-scope.js';

/** Who is erased, or asks for what is known of them. */
export interface PersonRef {
  readonly tid: string;
  readonly personId: string;
  /** Absent where the person has no user. */
  readonly userId?: string;
}

/** A row as an extension gets it: its own members, and those that every row has. */
export type ExtensionRow<Members> = Members & Row & { readonly tid: string };

/** An event of the same write as a row: they are kept, or lost, together. */
export interface RowEvent<Name extends EventName = EventName> {
  /** Names it, where something of it may have to be taken away later. @default a new id */
  readonly id?: string;
  /** One of the extension's `events`. */
  readonly type: Name;
  readonly data: EventMap[Name];
  /** Who made the change. */
  readonly by?: Attribution;
}

/** The rows of one tenant. A row of another is one that does not exist. */
export interface ExtensionRows<Members> {
  get(id: string): Promise<ExtensionRow<Members> | undefined>;
  /** Rows of an index, by the values of its fields; ordered by id. Without a page, all. */
  find(index: string, values: readonly string[], page?: Page): Promise<readonly ExtensionRow<Members>[]>;
  /** Rows of a stretch of an index that has an order; `within` is without the tenant. */
  range(range: Range): Promise<readonly ExtensionRow<Members>[]>;
  /** All rows of the tenant, ordered by id. */
  list(page?: Page): Promise<readonly ExtensionRow<Members>[]>;
  /**
   * @param options `id` where it is not to be a new UUID; `events`, for collections that have them.
   * @throws IdpError `invalid_record`; `conflict` when the id or a unique value is taken.
   */
  insert(members: Members, options?: { readonly id?: string; readonly events?: readonly RowEvent[] }): Promise<ExtensionRow<Members>>;
  /**
   * Compare-and-swap: `change` may run again when another write came between. Returning its argument writes nothing, where there are no events.
   * @param events of the change, or what answers them for the row as it was before.
   * @throws IdpError `not_found`, `invalid_record`, `conflict`.
   */
  update(
    id: string,
    change: (row: ExtensionRow<Members>) => Members,
    events?: readonly RowEvent[] | ((before: ExtensionRow<Members>) => readonly RowEvent[]),
  ): Promise<ExtensionRow<Members>>;
  /** @throws IdpError `not_found`. */
  remove(id: string, events?: readonly RowEvent[]): Promise<void>;
  /**
   * Takes members out of the data of events that the row raised, for `erase`: out of the feed, and not back from who got them. One that is not kept any more is
   * passed over.
   * @throws IdpError `busy` while one of them waits in the row.
   */
  redact(id: string, eventIds: readonly string[], members: readonly string[]): Promise<void>;
}

/** Rows of all tenants; `find` and `range` are for indexes of all tenants. */
export type RowsOfAllTenants<Members> = Pick<ExtensionRows<Members>, 'get' | 'list' | 'find' | 'range'>;

/** An index over the rows of a tenant, or of all tenants. */
export interface ExtensionIndex extends IndexSpec {
  /** Over the rows of all tenants: for jobs, by `collectionOfAllTenants`. @default false */
  readonly ofAllTenants?: boolean;
}

/** A durable collection of an extension. Each row is of one tenant, and goes with it. */
export interface ExtensionCollection<Schema extends TObject = TObject> {
  /** The extension's name, a dot, and a name of its own: `notes.entries`. */
  readonly name: string;
  /** What a row holds beside `id`, `version` and `tid`. A stored row of another form is left out, as if it was not there. */
  readonly row: Schema;
  /** By name; unique ones are within a tenant, unless they are of all. */
  readonly indexes?: Readonly<Record<string, ExtensionIndex>>;
  /** Whether writes may come with events. @default false */
  readonly events?: boolean;
  /** Erases what is kept of a person; it is called until it succeeds, so perhaps more than once. */
  readonly erase?: (rows: ExtensionRows<Static<Schema>>, person: PersonRef) => Promise<void>;
  /** Ends what is kept of a user whose person stays; it is called until it succeeds. */
  readonly userRemoved?: (rows: ExtensionRows<Static<Schema>>, person: Required<PersonRef>) => Promise<void>;
  /** What a person is told that is kept of them. */
  readonly export?: (rows: ExtensionRows<Static<Schema>>, person: PersonRef) => Promise<readonly object[]>;
  /** Ends what depends on a tenant elsewhere, before its rows are removed. */
  readonly tenantRemoved?: (rows: ExtensionRows<Static<Schema>>, tid: string) => Promise<void>;
}

/** In the place of a tenant's id: rows of the instance itself. No tenant has this id. */
export const OF_INSTANCE = '*';

/** Index of all rows of a tenant: extensions have no other of this name. */
const TENANT_INDEX = 'byTenant';
/** Index of rows with events that are not dispatched. */
const OUTBOX_INDEX = 'byOutbox';

/** What the store is asked to keep ready. */
export const specOf = ({ name, indexes = {}, events = false }: ExtensionCollection): CollectionSpec => ({
  name,
  indexes: {
    [TENANT_INDEX]: { fields: ['tid'] },
    ...(events && { [OUTBOX_INDEX]: { fields: ['outbox'] } }),
    ...Object.fromEntries(
      Object.entries(indexes).map(([index, { ofAllTenants = false, fields, ...spec }]) => [
        index,
        { ...spec, fields: ofAllTenants ? fields : ['tid', ...fields] },
      ]),
    ),
  },
});

/** A row as it is stored. */
type KeptRow = Row & { readonly tid: string } & Partial<Outboxed>;

const anyRow = (row: object): boolean => {
  const { id, version, tid } = row as Partial<ExtensionRow<unknown>>;
  return typeof id === 'string' && Number.isSafeInteger(version) && typeof tid === 'string';
};

/** The first member of a row that is not of its form. */
export function wrongMemberOf({ row: schema, events = false }: ExtensionCollection, row: object): string | undefined {
  if (!anyRow(row)) return 'id';
  const { id: _, version: __, tid, pendingEvents, outbox, ...members } = row as KeptRow;
  if (!(events ? Array.isArray(pendingEvents) && pendingEvents.every(isPendingEvent) : pendingEvents === undefined)) return 'pendingEvents';
  if (!(events && outbox === 'yes') && outbox !== undefined) return 'outbox';
  // What is left of a removed row until its last events are dispatched.
  if (tid === '') return undefined;
  return Value.Check(schema, members) ? undefined : (Value.Errors(schema, members).First()?.path.split('/')[1] ?? 'id');
}

/** Rows of the collections of all extensions. */
export interface ExtensionData {
  /** @throws TypeError for a collection that no extension declared. */
  rows<Schema extends TObject>(collection: ExtensionCollection<Schema>, tid: string): ExtensionRows<Static<Schema>>;
  /** The rows of all tenants and of the instance. @throws TypeError for a collection that no extension declared. */
  ofAllTenants<Schema extends TObject>(collection: ExtensionCollection<Schema>): RowsOfAllTenants<Static<Schema>>;
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

export interface ExtensionDataParts {
  readonly store: CheckedDirectory;
  readonly collections: readonly ExtensionCollection[];
  /** Types of events that extensions declare. */
  readonly events: ReadonlySet<string>;
  /** After a write that left events in a row. */
  readonly nudge: () => void;
}

export function createExtensionData({ store, collections, events: declaredEvents, nudge }: ExtensionDataParts): ExtensionData {
  const declared = new Map(collections.map((collection) => [collection.name, collection]));
  const keptRows = ({ name }: ExtensionCollection) => store.collection(name) as unknown as CheckedCollection<KeptRow>;

  /** The row with the events in it, where the collection has events. */
  function withRaised<R extends KeptRow>({ name, events }: ExtensionCollection, row: R, tid: string, raised: readonly RowEvent[]): R {
    if (!events && raised.length > 0) throw new TypeError(`the collection ${name} has no events`);
    if (!events) return row;
    for (const { type } of raised) if (!declaredEvents.has(type)) throw new TypeError(`no extension declares the event ${type}`);
    const kept = { ...row, pendingEvents: row.pendingEvents ?? [] };
    return raised.length === 0
      ? kept
      : withEvents(
          kept,
          ...raised.map(({ id, type, data, by = {} }) => {
            const event = pendingEvent(type, tid === OF_INSTANCE ? undefined : tid, data);
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
    const shown = ({ pendingEvents: _, outbox: __, ...row }: KeptRow) => row;
    const find = async (index: string, values: readonly string[], page?: Page) => (await scope.find(index, values, page)).map(shown);
    const own = {
      async get(id: string) {
        const row = await scope.get(id);
        return row && shown(row);
      },
      find,
      range: async (range: Range) => (await scope.range(range)).map(shown),
      list: (page?: Page) => find(TENANT_INDEX, [], page),
      async insert(members: object, { id = newId(), events = [] }: { readonly id?: string; readonly events?: readonly RowEvent[] } = {}) {
        const { pendingEvents: _, outbox: __, ...own } = members as Partial<KeptRow>;
        const row = await scope.insert(withRaised(collection, { ...own, id } as KeptRow, tid, events));
        if (events.length > 0) nudge();
        return shown(row);
      },
      async update(
        id: string,
        change: (row: object) => object,
        events: readonly RowEvent[] | ((before: object) => readonly RowEvent[]) = [],
      ) {
        let isRaised = false;
        const row = await scope.update(id, (current) => {
          const before = shown(current);
          const next = change(before);
          const raised = typeof events === 'function' ? events(before) : events;
          isRaised = raised.length > 0;
          if (next === before && !isRaised) return current;
          const { pendingEvents = undefined, outbox = undefined } = current;
          const outboxed = { ...(pendingEvents && { pendingEvents }), ...(outbox && { outbox }) };
          return withRaised(collection, { ...next, ...outboxed } as KeptRow, tid, raised);
        });
        if (isRaised) nudge();
        return shown(row);
      },
      async remove(id: string, events: readonly RowEvent[] = []) {
        if (!collection.events) {
          if (events.length > 0) throw new TypeError(`the collection ${collection.name} has no events`);
          return scope.remove(id);
        }
        if (!(await leaveRemainder(collection, id, tid, events))) throw new IdpError('not_found');
        nudge();
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
    return own as unknown as ExtensionRows<Static<Schema>>;
  }

  /** Takes a row away; what stays carries its last events, belongs to no tenant, and goes with them. False when there is none. */
  async function leaveRemainder(collection: ExtensionCollection, id: string, tid: string, events: readonly RowEvent[]): Promise<boolean> {
    let isThere = false;
    const left = await keptRows(collection).update(id, (row) => {
      isThere = row.tid === tid;
      if (!isThere) return row;
      const { version, pendingEvents = [] } = row;
      // Even without events: the outbox removes what a node leaves that dies right after this.
      return withRaised(collection, { id, version, tid: '', pendingEvents, outbox: 'yes' }, tid, events);
    });
    if (isThere && left?.pendingEvents?.length === 0) await keptRows(collection).remove(id, left.version);
    return isThere;
  }

  return {
    rows,
    ofAllTenants<Schema extends TObject>(given: ExtensionCollection<Schema>) {
      const collection = given as unknown as ExtensionCollection;
      if (declared.get(given.name) !== collection) throw new TypeError(`no extension declares the collection ${given.name}`);
      const shown = ({ pendingEvents: _, outbox: __, ...row }: KeptRow) => row;
      return {
        async get(id: string) {
          const row = await keptRows(collection).get(id);
          return row === undefined || row.tid === '' ? undefined : shown(row);
        },
        list: async (page?: Page) => (await findKept(keptRows(collection), {}, page, ({ tid }) => tid !== '')).map(shown),
        find: async (index: string, values: readonly string[], page?: Page) =>
          (await keptRows(collection).find({ [index]: values }, page)).map(shown),
        range: async (range: Range) => (await keptRows(collection).range(range)).map(shown),
      } as unknown as RowsOfAllTenants<Static<Schema>>;
    },
    hasErasure: collections.some(({ erase, userRemoved }) => (erase ?? userRemoved) !== undefined),
    async erase({ keepsPerson = false, tid, personId, userId }) {
      const person = { tid, personId, ...(userId !== undefined && { userId }) };
      for (const collection of collections) {
        const own = rows(collection, tid);
        if (!keepsPerson) await collection.erase?.(own, person);
        else if (userId !== undefined) await collection.userRemoved?.(own, { ...person, userId });
      }
    },
    async export(person) {
      const parts: Record<string, readonly object[]> = {};
      for (const collection of collections)
        if (collection.export) parts[collection.name] = await collection.export(rows(collection, person.tid), person);
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
      }
    },
  };
}
