/** Collections of extensions: how they are declared, and what a row of them is. */
import type { Static, TObject } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Awaitable } from '../../awaitable.js';
import type { Attribution, EventMap, EventName } from '../../events.js';
import type { CollectionSpec, IndexSpec, Page, Range, Row } from '../../store/directory-store.js';
import type { Outboxed } from '../../store/records/records.js';
import { isPendingEvent } from '../../store/records/row-checks.js';
import { knownPart } from '../lists/known-part.js';

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

/** The result of a look-up. */
export interface FoundRows<Members> {
  readonly rows: readonly ExtensionRow<Members>[];
  /** Ids of rows that cannot be read. They can be removed. */
  readonly unreadable: readonly string[];
}

/** The rows of one tenant. A row of another is one that does not exist. */
export interface ExtensionRows<Members> {
  get(id: string): Promise<ExtensionRow<Members> | undefined>;
  /** Rows of an index, by the values of its fields; ordered by id. Without a page, all. */
  find(index: string, values: readonly string[], page?: Page): Promise<readonly ExtensionRow<Members>[]>;
  /** Rows of a stretch of an index that has an order; `within` is without the tenant. */
  range(range: Range): Promise<readonly ExtensionRow<Members>[]>;
  /**
   * Rows of an index, and the ids of malformed ones, which `find` leaves out. Use it where a missing row would let somebody in, and treat a malformed row as one
   * that refuses.
   */
  findAll(index: string, values: readonly string[]): Promise<FoundRows<Members>>;
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
export type RowsOfAllTenants<Members> = Pick<ExtensionRows<Members>, 'get' | 'list' | 'find' | 'findAll' | 'range'>;

/** Rows of a collection as they were within about a second, or as they were known last while the store is away. */
export interface CachedRows<Members> {
  /** The row of any tenant; a promise only where it is not at hand. */
  get(id: string): Awaitable<ExtensionRow<Members> | undefined>;
  /** Rows of the index, as `findAll` of the tenant's rows finds them; a promise only where they are not at hand. */
  findAll(tid: string, values: readonly string[]): Awaitable<FoundRows<Members>>;
}

/** An index over the rows of a tenant, or of all tenants. */
export interface ExtensionIndex extends IndexSpec {
  /** Over the rows of all tenants: for jobs, by `records.collectionOfAllTenants`. @default false */
  readonly ofAllTenants?: boolean;
}

/** A durable collection of an extension. Each row is of one tenant, and goes with it. */
export interface ExtensionCollection<Schema extends TObject = TObject> {
  /** The extension's name, a dot, and a name of its own: `notes.entries`. */
  readonly name: string;
  /**
   * Members of a row in addition to `id`, `version` and `tid`. A malformed stored row is left out. A stored member that the schema does not name, at any
   * depth, is ignored and kept, because a later release may have written it.
   */
  readonly row: Schema;
  /** Checks what the schema cannot say, in rows that fit the schema. A row in which it names a member is malformed. */
  wrongMember?(row: Static<Schema>): string | undefined;
  /** By name; unique ones are within a tenant, unless they are of all. */
  readonly indexes?: Readonly<Record<string, ExtensionIndex>>;
  /** Whether `cached` may read the rows. Each write then also tells all nodes, so it is for rows that are rarely written. @default false */
  readonly cached?: boolean;
  /** Whether writes may come with events. @default false */
  readonly events?: boolean;
  /** Erases the data of a person. Called until it succeeds, so perhaps more than once. @param at the time of the erasure */
  readonly erase?: (rows: ExtensionRows<Static<Schema>>, person: PersonRef, at: Date) => Promise<void>;
  /** Ends what is kept of a user whose person stays; it is called until it succeeds. */
  readonly userRemoved?: (rows: ExtensionRows<Static<Schema>>, person: Required<PersonRef>, at: Date) => Promise<void>;
  /** What a person is told that is kept of them. */
  readonly export?: (rows: ExtensionRows<Static<Schema>>, person: PersonRef) => Promise<readonly object[]>;
  /** Ends what depends on a tenant elsewhere, before its rows are removed. */
  readonly tenantRemoved?: (rows: ExtensionRows<Static<Schema>>, tid: string) => Promise<void>;
}

/** In the place of a tenant's id: rows of the instance itself. No tenant has this id. */
export const OF_INSTANCE = '*';

/** Index of all rows of a tenant: extensions have no other of this name. */
export const TENANT_INDEX = 'byTenant';
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
export type KeptRow = Row & { readonly tid: string } & Partial<Outboxed>;

const anyRow = (row: object): boolean => {
  const { id, version, tid } = row as Partial<ExtensionRow<unknown>>;
  return typeof id === 'string' && Number.isSafeInteger(version) && typeof tid === 'string';
};

/** Returns a JSON Pointer to the first part of a row that is malformed. */
export function wrongPathOf(collection: ExtensionCollection, row: object): string | undefined {
  const { row: schema, events = false } = collection;
  if (!anyRow(row)) return typeof (row as Partial<KeptRow>).tid === 'string' ? '/id' : '/tid';
  const { id: _, version: __, tid, pendingEvents, outbox, ...members } = row as KeptRow;
  if (!(events ? Array.isArray(pendingEvents) && pendingEvents.every(isPendingEvent) : pendingEvents === undefined))
    return '/pendingEvents';
  if (!(events && outbox === 'yes') && outbox !== undefined) return '/outbox';
  // The rest of a removed row, which stays until its last events are dispatched, has no other members.
  if (tid === '') return events ? pathOf(Object.keys(members)[0]) : '/tid';
  return wrongWritten(collection, knownPart(schema, members) as object);
}

const pathOf = (member: string | undefined): string | undefined => (member === undefined ? undefined : `/${member}`);

/** Returns a JSON Pointer to the first part that is malformed, or that the schema does not name, because only known members may be written. */
export const wrongWritten = (collection: ExtensionCollection, members: object): string | undefined =>
  Value.Check(collection.row, members)
    ? pathOf(collection.wrongMember?.(members as Static<TObject>))
    : (Value.Errors(collection.row, members).First()?.path || '/id').slice(0, 200);

/** A row without what the service keeps in it. */
export function shownOf<R extends KeptRow>({ row: schema }: ExtensionCollection, row: R): Omit<R, 'pendingEvents' | 'outbox'> {
  const { pendingEvents: _, outbox: __, id, version, tid, ...members } = row;
  return { ...(knownPart(schema, members) as typeof members), id, version, tid } as Omit<R, 'pendingEvents' | 'outbox'>;
}
