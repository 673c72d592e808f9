/**
 * Lists of records: by name or by creation, filtered, page by page.
 *
 * A list is read along an index in its order, from the position at which the former page ended. So a page costs the same, however many
 * records exist. Cursors carry positions; they are encrypted and valid for their own list only. Names and addresses are compared by derived
 * members, which each write sets. `key-completion` adds these members to rows that do not have them. Until it is done, a list reads all
 * records of its tenant.
 */
import { type Static, type TProperties, Type } from '@sinclair/typebox';
import { IdpError } from '../../errors.js';
import type { Collection, Position, Range } from '../../store/directory-store.js';
import { compareOrdered, compareTexts } from '../../store/index-order.js';
import type { CollectionName } from '../../store/records/collections.js';
import { isKeyedCollection, type KeyedCollection, withKeys } from '../../store/records/derived-keys.js';
import { leftOutIn } from '../../store/records/left-out.js';
import type { ApiResource, Client, Named, Stored, Tenant } from '../../store/records/records.js';
import type { Sealer } from '../../store/sealer.js';
import { comparedText } from '../../text/compared.js';
import { inputSchema, LINE_LENGTH } from '../../text/schemas.js';
import type { DirectoryContext } from '../context.js';
import { problemsOf } from '../input.js';
import type { LeftOutItem } from './readable-page.js';

/** One page of a list. */
export interface Listed<R> {
  readonly items: readonly R[];
  /** Value of `after` for the next page. Absent on the last page. */
  readonly next?: string;
  /** Unreadable records that the page leaves out, each with a JSON Pointer to its malformed part. Absent if all records can be read. */
  readonly unreadable?: readonly LeftOutItem[];
}

/** Members of every query. */
const pageQuery = {
  /** @default 50 */
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
  /** Cursor: `next` of the previous page. */
  after: Type.Optional(Type.String({ maxLength: 4096 })),
};
const byCreation = [Type.Literal('createdAt'), Type.Literal('-createdAt')] as const;

/** Members of queries for records without a name. */
export const creationQuery = {
  ...pageQuery,
  /** With `-`, in descending order. @default createdAt */
  sort: Type.Optional(Type.Union([...byCreation])),
};

/** Members of queries for records with a name. */
export const listQuery = {
  ...pageQuery,
  /** With `-`, in descending order. @default by name with the filter `name`, else by creation */
  sort: Type.Optional(Type.Union([...byCreation, Type.Literal('name'), Type.Literal('-name')])),
  /** Start of the name, whatever its case. A list with this filter is sorted by name. */
  name: Type.Optional(Type.String({ minLength: 1, maxLength: LINE_LENGTH })),
};
export const listQuerySchema = inputSchema(listQuery);
/** @interface */
export type ListQuery = Static<typeof listQuerySchema>;

/** Additional members of queries for records with a status. */
const statusQuery = {
  ...listQuery,
  status: Type.Optional(Type.Union([Type.Literal('active'), Type.Literal('disabled')])),
};
export const statusQuerySchema = inputSchema(statusQuery);
/** @interface */
export type StatusQuery = Static<typeof statusQuerySchema>;

const DEFAULT_LIMIT = 50;

/** A pair of indexes of lists. */
export interface Along {
  readonly name: string;
  readonly createdAt: string;
  readonly within: readonly string[];
}
export const inOrder: Along = { name: 'inOrderOfName', createdAt: 'inOrderOfCreation', within: [] };
export const ofStatus = (status: string): Along => ({
  name: 'ofStatusInOrderOfName',
  createdAt: 'ofStatusInOrderOfCreation',
  within: [status],
});

/** A record that can be listed. */
type Listable = Stored & Pick<Named, 'nameKey'>;
type AnyQuery = Pick<ListQuery, 'limit' | 'after' | 'sort'>;

export interface ListParts<R extends Listable, Query extends AnyQuery> {
  readonly collection: CollectionName;
  /** Tenant of the list. Absent for lists of the instance. */
  readonly tid?: string;
  /** Schemas of the query's members. */
  readonly properties: TProperties;
  /** Returns rows of an index, of the tenant alone if the list has one. */
  range(range: Range): Promise<readonly R[]>;
  /** Returns all rows of the list, even without their derived members. Absent for records without derived members. */
  all?(): Promise<readonly R[]>;
  /** Returns the indexes for a query. */
  along(query: Query): Along;
  /**
   * Returns rows of a query by look-ups, which find few; undefined for a query without a look-up. Look-ups by derived members find only rows that have the
   * members.
   */
  lookUp?(query: Query): Promise<readonly R[]> | undefined;
  /** Returns whether a row matches the query, apart from its name. */
  fits(row: R, query: Query): boolean;
  /**
   * Returns the rows of the list among all rows that an index or a look-up found. Uses `withLeftOut` to name rows that refer to a missing
   * record.
   * @default all
   */
  sift?(rows: readonly R[], query: Query): Promise<readonly R[]>;
}

export function createList<R extends Listable, Query extends AnyQuery>(
  { sealer, isKeyed }: Pick<DirectoryContext, 'sealer' | 'isKeyed'>,
  parts: ListParts<R, Query>,
): (query?: Query) => Promise<Listed<R>> {
  const { collection, tid } = parts;
  const schema = inputSchema(parts.properties);
  const cursors = createCursors(sealer);

  return async (query = {} as Query) => {
    checkQuery(schema, query);
    const { limit = DEFAULT_LIMIT, after: cursor, ...asked } = query as ListQuery;
    const sort = sortOf(asked);
    const sortedBy = sort.endsWith('name') ? 'name' : 'createdAt';
    const descending = sort.startsWith('-');
    const list = JSON.stringify([
      collection,
      tid ?? null,
      sort,
      Object.entries(asked)
        .filter(([name]) => name !== 'sort')
        .sort(),
    ]);
    const after = cursor === undefined ? undefined : cursors.read(list, cursor);
    const prefix = asked.name === undefined ? undefined : comparedText(asked.name);

    const positionOf = (row: R): Position => ({ value: sortedBy === 'name' ? (row.nameKey ?? '') : row.createdAt, id: row.id });
    const compare = (one: Position, other: Position): number =>
      (compareOrdered(one.value, other.value) || compareTexts(one.id, other.id)) * (descending ? -1 : 1);
    const those = (rows: readonly R[]): readonly R[] =>
      rows
        .map((row) => withKeys(collection, row))
        .filter((row) => parts.fits(row, query) && (prefix === undefined || row.nameKey?.startsWith(prefix)))
        .map((row) => ({ row, position: positionOf(row) }))
        .filter(({ position }) => after === undefined || compare(position, after) > 0)
        .sort((one, other) => compare(one.position, other.position))
        .slice(0, limit + 1)
        .map(({ row }) => row);

    const reads: (readonly R[])[] = [];
    const noted = (read: readonly R[]): readonly R[] => {
      reads.push(read);
      return read;
    };
    const sifted = async (rows: readonly R[]): Promise<readonly R[]> => (parts.sift ? noted(await parts.sift(rows, query)) : rows);

    async function alongIndex(): Promise<readonly R[]> {
      const { [sortedBy]: index, within } = parts.along(query);
      const range = { index, within, limit: limit + 1, descending, ...(prefix !== undefined && { prefix }) };
      const rows: R[] = [];
      for (let last = after; ; ) {
        const read = noted(await parts.range({ ...range, ...(last && { after: last }) }));
        rows.push(...(await sifted(read)));
        const [end] = read.slice(limit);
        if (rows.length > limit || !end) return rows;
        last = positionOf(end);
      }
    }

    async function found(): Promise<readonly R[]> {
      if (parts.all && isKeyedCollection(collection) && !(await isKeyed(collection))) return those(noted(await parts.all()));
      const few = await parts.lookUp?.(query);
      return few === undefined ? alongIndex() : those(await sifted(noted(few)));
    }

    const rows = await found();
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    return {
      items,
      ...(last && rows.length > limit && { next: cursors.write(list, positionOf(last)) }),
      ...leftOutIn(...reads),
    };
  };
}

/** Returns a list of records whose only filter is the name. */
export const createNameList = <R extends Named>(
  context: Pick<DirectoryContext, 'sealer' | 'isKeyed'>,
  parts: Pick<ListParts<R, ListQuery>, 'tid' | 'range'> & { readonly collection: KeyedCollection; all(): Promise<readonly R[]> },
): ((query?: ListQuery) => Promise<Listed<R>>) =>
  createList<R, ListQuery>(context, { ...parts, properties: listQuery, along: () => inOrder, fits: () => true });

/** Returns a list of all records of the instance, with their status as a filter. */
export const createStatusList = <R extends Tenant | Client | ApiResource>(
  context: Pick<DirectoryContext, 'sealer' | 'isKeyed'>,
  collection: 'tenants' | 'clients' | 'apiResources',
  rows: Pick<Collection<R>, 'find' | 'range'>,
): ((query?: StatusQuery) => Promise<Listed<R>>) =>
  createList<R, StatusQuery>(context, {
    collection,
    properties: statusQuery,
    range: rows.range,
    all: () => rows.find({}),
    along: ({ status }) => (status === undefined ? inOrder : ofStatus(status)),
    fits: (row, { status }) => status === undefined || row.status === status,
  });

/** @throws IdpError `invalid_request` with the member and its expected form, never the value. */
function checkQuery(schema: ReturnType<typeof inputSchema>, query: unknown): void {
  const [problem] = problemsOf(schema, query);
  if (problem) throw new IdpError('invalid_request', { ...problem });
}

function sortOf({ sort, name }: ListQuery): NonNullable<ListQuery['sort']> {
  if (name === undefined) return sort ?? 'createdAt';
  if (sort === undefined || sort.endsWith('name')) return sort ?? 'name';
  throw new IdpError('invalid_request', { path: '/sort', expected: 'name or -name, because the list is filtered by name' });
}

/** Positions in lists, as callers hold them: encrypted, because they contain names, and bound to their list. */
interface Cursors {
  /** @param list identifies the list: its collection, tenant, order and filters. */
  write(list: string, position: Position): string;
  /** @throws IdpError `invalid_cursor` for a text that is no cursor of this list. */
  read(list: string, cursor: string): Position;
}

const PURPOSE = 'list cursor';

const createCursors = (sealer: Pick<Sealer, 'encrypt' | 'decrypt'>): Cursors => ({
  write(list, { value, id }) {
    const position = value instanceof Date ? { instant: value.getTime(), id } : { value, id };
    return sealer.encrypt(PURPOSE, list, JSON.stringify(position));
  },
  read(list, cursor) {
    try {
      const { instant, value, id } = JSON.parse(sealer.decrypt(PURPOSE, list, cursor)) as {
        readonly instant?: number;
        readonly value: string;
        readonly id: string;
      };
      return { value: instant === undefined ? value : new Date(instant), id };
    } catch (cause) {
      throw IdpError.is(cause, 'undecipherable') ? new IdpError('invalid_cursor', {}, { cause }) : cause;
    }
  },
});
