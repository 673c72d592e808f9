/** Collections of extensions: their declaration, and the form of their rows. */
import type { Static, TObject } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Awaitable } from '../../awaitable.js';
import type { Attribution, EventMap, EventName } from '../../events.js';
import type { CollectionSpec, IndexSpec, Page, Range, Row } from '../../store/directory-store.js';
import type { Outboxed } from '../../store/records/records.js';
import { isPendingEvent } from '../../store/records/row-checks.js';
import type { ExportReader } from '../context.js';
import { knownPart } from '../lists/known-part.js';

/** A person who is erased, or who asks for an export of their data. */
export interface PersonRef {
  readonly tid: string;
  readonly personId: string;
  /** Id of the person's user. Absent if the person has no user. */
  readonly userId?: string;
}

/** A row as an extension reads it: its own members, and the members that every row has. */
export type ExtensionRow<Members> = Members & Row & { readonly tid: string };

/** An event of the same write as a row. The store keeps both or neither. */
export interface RowEvent<Name extends EventName = EventName> {
  /** Id of the event. Set it if members of the event must be redacted later. @default a new id */
  readonly id?: string;
  /** One of the extension's `events`. */
  readonly type: Name;
  readonly data: EventMap[Name];
  /** Actor of the change. */
  readonly by?: Attribution;
}

/** The result of a look-up. */
export interface FoundRows<Members> {
  readonly rows: readonly ExtensionRow<Members>[];
  /** Ids of unreadable rows. Unreadable rows can be removed. */
  readonly unreadable: readonly string[];
}

/** The rows of one tenant. Rows of other tenants do not exist here. */
export interface ExtensionRows<Members> {
  get(id: string): Promise<ExtensionRow<Members> | undefined>;
  /** Returns rows of an index, by the values of its fields, ordered by id. Returns all rows without a page. */
  find(index: string, values: readonly string[], page?: Page): Promise<readonly ExtensionRow<Members>[]>;
  /** Returns rows of a range of an ordered index; `within` is without the tenant. */
  range(range: Range): Promise<readonly ExtensionRow<Members>[]>;
  /**
   * Returns rows of an index, and the ids of malformed rows, which `find` leaves out. Use the method where a missing row would grant access,
   * and treat a malformed row as a refusal.
   */
  findAll(index: string, values: readonly string[]): Promise<FoundRows<Members>>;
  /** Returns all rows of the tenant, ordered by id. */
  list(page?: Page): Promise<readonly ExtensionRow<Members>[]>;
  /**
   * @param options `id`: by default a new UUID; `events`: for collections that have them.
   * @throws IdpError `invalid_record`; `conflict` when the id or a unique value exists already.
   */
  insert(members: Members, options?: { readonly id?: string; readonly events?: readonly RowEvent[] }): Promise<ExtensionRow<Members>>;
  /**
   * Changes a row by compare-and-swap: `change` may run again after a concurrent write. If `change` returns its argument and there are no
   * events, nothing is written.
   * @param events of the change, or a function that returns them for the row before the change.
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
   * Removes members from the data of events that the row raised, for `erase`. The feed no longer has them; receivers keep what they got.
   * Expired events are skipped.
   * @throws IdpError `busy` while one of the events waits in the row.
   */
  redact(id: string, eventIds: readonly string[], members: readonly string[]): Promise<void>;
}

/** Rows of all tenants. `find` and `range` need an index of all tenants. */
export type RowsOfAllTenants<Members> = Pick<ExtensionRows<Members>, 'get' | 'list' | 'find' | 'findAll' | 'range'>;

/** Rows of a collection as they were about a second ago. While the store is unavailable, the last known rows. */
export interface CachedRows<Members> {
  /** Returns the row of any tenant; a promise only if the cache does not have the row. */
  get(id: string): Awaitable<ExtensionRow<Members> | undefined>;
  /** Returns rows of the index, as `findAll` of the tenant's rows does; a promise only if the cache does not have the rows. */
  findAll(tid: string, values: readonly string[]): Awaitable<FoundRows<Members>>;
}

/** An index over the rows of a tenant, or of all tenants. */
export interface ExtensionIndex extends IndexSpec {
  /** Whether the index covers the rows of all tenants: for jobs, by `records.collectionOfAllTenants`. @default false */
  readonly ofAllTenants?: boolean;
}

/** A durable collection of an extension. Each row belongs to one tenant, and is removed with it. */
export interface ExtensionCollection<Schema extends TObject = TObject> {
  /** Name of the extension, a dot, and a name of the collection: `notes.entries`. */
  readonly name: string;
  /**
   * Members of a row in addition to `id`, `version` and `tid`. A malformed stored row is left out. A stored member that the schema does not name, at any
   * depth, is ignored and kept, because a later release may have written it.
   */
  readonly row: Schema;
  /** Checks what the schema cannot express, in rows that fit the schema. A row in which the check names a member is malformed. */
  wrongMember?(row: Static<Schema>): string | undefined;
  /** Indexes by name. A unique index is unique within a tenant, unless it covers all tenants. */
  readonly indexes?: Readonly<Record<string, ExtensionIndex>>;
  /**
   * Whether `cached` may read the rows. Each write then also notifies all nodes, so set the member only for rows that are rarely written.
   * @default false
   */
  readonly cached?: boolean;
  /** Whether a write may raise events. @default false */
  readonly events?: boolean;
  /** Erases the data of a person. The function is called until it succeeds, so perhaps more than once. @param at the time of the erasure */
  readonly erase?: (rows: ExtensionRows<Static<Schema>>, person: PersonRef, at: Date) => Promise<void>;
  /** Removes the data of a user whose person stays. The function is called until it succeeds, so perhaps more than once. */
  readonly userRemoved?: (rows: ExtensionRows<Static<Schema>>, person: Required<PersonRef>, at: Date) => Promise<void>;
  /**
   * Returns the data of a person for the person's export.
   * @param reader `person` if the person downloads the export. Leave out what concerns other persons then.
   */
  readonly export?: (rows: ExtensionRows<Static<Schema>>, person: PersonRef, reader: ExportReader) => Promise<readonly object[]>;
  /** Ends everything elsewhere that depends on a tenant, before its rows are removed. */
  readonly tenantRemoved?: (rows: ExtensionRows<Static<Schema>>, tid: string) => Promise<void>;
}

/** Stands in place of a tenant's id for rows of the instance itself. No tenant has this id. */
export const OF_INSTANCE = '*';

/** Index of all rows of a tenant. No extension may declare an index of this name. */
export const TENANT_INDEX = 'byTenant';
/** Index of rows with events that are not dispatched. */
const OUTBOX_INDEX = 'byOutbox';

/** Returns the collection's specification for the store. */
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

/**
 * Checks the name of an index. Without this check, the store would fail, which counts as an outage.
 * @throws TypeError for an index that the collection does not declare
 */
export function checkIndex({ name, indexes }: CollectionSpec, index: string): void {
  if (Object.hasOwn(indexes, index) && index !== OUTBOX_INDEX) return;
  const declared = Object.keys(indexes).filter((other) => other !== OUTBOX_INDEX);
  throw new TypeError(`The collection ${name} has no index ${index}. Use one of ${declared.join(', ')}.`);
}

/**
 * Checks a look-up: the index, and one text for each of its fields.
 * @param fixed number of fields that the caller does not give: the tenant's id
 * @throws TypeError
 */
export function checkLookUp(spec: CollectionSpec, index: string, values: readonly unknown[], fixed = 0): void {
  checkIndex(spec, index);
  const fields = spec.indexes[index]?.fields.slice(fixed) ?? [];
  if (!Array.isArray(values) || values.length !== fields.length || values.some((value) => typeof value !== 'string'))
    throw new TypeError(
      `A look-up in the index ${index} of ${spec.name} does not have a text for each field. Give a text for each of [${fields.join(', ')}].`,
    );
}

/** A row in its stored form. */
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
  // The remainder of a removed row, which stays until its last events are dispatched, has no other members.
  if (tid === '') return events ? pathOf(Object.keys(members)[0]) : '/tid';
  return wrongWritten(collection, knownPart(schema, members) as object);
}

const pathOf = (member: string | undefined): string | undefined => (member === undefined ? undefined : `/${member}`);

/** Returns a JSON Pointer to the first part that is malformed, or that the schema does not name, because only known members may be written. */
export const wrongWritten = (collection: ExtensionCollection, members: object): string | undefined =>
  Value.Check(collection.row, members)
    ? pathOf(collection.wrongMember?.(members as Static<TObject>))
    : (Value.Errors(collection.row, members).First()?.path || '/id').slice(0, 200);

/** Returns a row without the members that belong to the service. */
export function shownOf<R extends KeptRow>({ row: schema }: ExtensionCollection, row: R): Omit<R, 'pendingEvents' | 'outbox'> {
  const { pendingEvents: _, outbox: __, id, version, tid, ...members } = row;
  return { ...(knownPart(schema, members) as typeof members), id, version, tid } as Omit<R, 'pendingEvents' | 'outbox'>;
}
