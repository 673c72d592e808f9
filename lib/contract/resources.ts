/** Operations of the admin API, as extensions contribute them: one schema for types, checks and the OpenAPI document. */
import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import type { Context } from 'koa';
import type { Awaitable } from '../awaitable.js';
import type { Account, Authority, Directory } from '../directory/index.js';
import type { ConfigProblem, ErrorEntry } from '../errors.js';
import type { Attribution } from '../events.js';
import type { Page } from '../store/directory-store.js';
import { leftOutIn } from '../store/records/left-out.js';
import type { Client } from '../store/records/records.js';
import { routeName } from './route-names.js';
import { formatProblems } from './schema-formats.js';

/** Audience of access tokens for the admin API. The service itself defines this API resource. */
export const ADMIN_API = 'idp.admin';

/** Caller of the admin API: a client, or a person through a client. */
export interface Administrator extends Authority {
  /** Name of the caller, as events of the caller's writes have it: `client:hr-sync` or `user:<oid>`. */
  readonly actor: string;
  readonly client: Client;
  /** The account of the person behind the token. A person administers only their own tenant. */
  readonly account?: Account;
}

/** A request that passed all checks: token, scope, tenant, and the schema of each part. */
export interface OperationRequest<Params = Readonly<Record<string, string>>, Query = unknown, Body = unknown> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly administrator: Administrator;
  /** Attribution of the request, for services that take it with each call. */
  readonly by: Attribution;
  /** Services of the directory. Events of their writes name the administrator and the request. */
  readonly directory: Directory;
  /** Returns the id for the first, second … new record. A retry with the same `Idempotency-Key` gets the same ids. */
  newId(index?: number): string;
  /**
   * Returns a JSON value that stays the same when the request is retried with its `Idempotency-Key`: the first result of `make`. Use this method for values
   * that are in the answer and not in a record, such as a secret. Call this method before the write. The value is stored encrypted for a day.
   */
  remember<Value>(name: string, make: () => Awaitable<Value>): Promise<Value>;
  /**
   * Whether an earlier request with the same `Idempotency-Key` got no answer. The earlier request may have written the records that {@link newId} names.
   */
  readonly isRetry: boolean;
  /** Compares `If-Match` with the current answer. @throws IdpError `precondition_failed` if `If-Match` names another state of the record. */
  checkMatch(answer: unknown): void;
  readonly ctx: Context;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Callers of an operation: administrators of the tenant in its path, administrators of all tenants, or every administrator. */
export type Reach = 'tenant' | 'instance' | 'any';

/** An operation: one method of one path. */
export interface Operation {
  readonly method: Method;
  /** Path below the API's base: `/tenants/{tid}/badges/{id}`. Records of a tenant are below `/tenants/{tid}`. */
  readonly path: string;
  /** Scope of the operation: `idp.<resource>:read` or `idp.<resource>:write`. */
  readonly scope: string;
  /** Summary for the OpenAPI document, in one line. */
  readonly summary: string;
  /** @default `tenant` under `/tenants/{tid}`, else `instance` */
  readonly reach?: Reach;
  readonly query?: TObject;
  readonly body?: TSchema;
  /** Returns the body in the spelling of its schema, before the body is checked. Leaves values without a meaning as they are. @default the body */
  readonly respelled?: (body: unknown) => unknown;
  /** Schema of the answer. If absent, the answer is 204 without a body. */
  readonly answer?: TSchema;
  /** @default 200, or 204 without an answer */
  readonly status?: 200 | 201 | 202;
  /**
   * The stored record that the path names. If the record is unreadable, this operation and the operations below its path answer with an error that states
   * this, in place of `not_found`.
   * @default none
   */
  readonly record?: { readonly collection: string; readonly param: string; readonly index?: string };
  /** Removes the unreadable record of a `DELETE` that was refused with `not_found`. @default unreadable records are not removed */
  readonly removeUnreadable?: (request: OperationRequest<never, never, never>) => Awaitable<void>;
  /** Error codes of this operation, in addition to the error codes of every operation. */
  readonly errors?: readonly string[];
  /** Returns the path of the created record, below the API's base. @default with 201, the path and the `id` of the answer */
  readonly location?: (answer: never, params: Readonly<Record<string, string>>) => string;
  /** Members that only this answer has, and that the record does not have. The `ETag` leaves them out. @default none */
  readonly outsideTag?: readonly string[];
  readonly handle: (request: OperationRequest<never, never, never>) => Awaitable<unknown>;
}

/** An operation as the admin API mounts it, with the meaning of its errors by their codes. */
export interface MountedOperation extends Operation {
  readonly reach: Reach;
  readonly errorEntries: Readonly<Record<string, ErrorEntry>>;
}

/** The parameters in a path, by name. */
type ParamsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [Key in Name]: string } & ParamsOf<Rest>
  : unknown;

interface TypedOperation<Path extends string, Query extends TObject, Body extends TSchema, Answer extends TSchema>
  extends Omit<Operation, 'path' | 'query' | 'body' | 'answer' | 'location' | 'handle' | 'removeUnreadable'> {
  readonly path: Path;
  readonly query?: Query;
  readonly body?: Body;
  readonly answer?: Answer;
  readonly location?: (answer: Static<Answer>, params: ParamsOf<Path>) => string;
  readonly handle: (request: OperationRequest<ParamsOf<Path>, Static<Query>, Static<Body>>) => Awaitable<Static<Answer>>;
  readonly removeUnreadable?: (request: OperationRequest<ParamsOf<Path>, Static<Query>, Static<Body>>) => Awaitable<void>;
}

/**
 * Types an operation: the types of the request and the answer of `handle` follow from the path and the schemas.
 * @example
 * ```ts
 * import { defineOperation, type Extension, IdpError, Type } from 'tenant-idp/extension';
 *
 * const TenantName = Type.Object({ name: Type.String() }, { additionalProperties: false });
 * export const tenantNames: Extension = {
 *   name: 'tenant-names',
 *   resources: () => [
 *     defineOperation({
 *       method: 'GET',
 *       path: '/tenants/{tid}/name',
 *       scope: 'idp.tenant-names:read',
 *       summary: 'Reads the name of a tenant',
 *       answer: TenantName,
 *       async handle({ params, directory }) {
 *         const { name } = await directory.tenants.require(params.tid);
 *         return { name };
 *       },
 *     }),
 *   ],
 * };
 * ```
 */
export const defineOperation = <
  const Path extends string,
  Query extends TObject = TObject,
  Body extends TSchema = TSchema,
  Answer extends TSchema = TSchema,
>(
  operation: TypedOperation<Path, Query, Body, Answer>,
): Operation => operation as unknown as Operation;

/**
 * Returns the schema of a list's query: page size, start, order, and the filters of the resource.
 * @example
 * ```ts
 * import { defineOperation, pageOf, pageQuery, Type } from 'tenant-idp/extension';
 *
 * const Name = Type.Object({ name: Type.String() }, { additionalProperties: false });
 * export const names = defineOperation({
 *   method: 'GET',
 *   path: '/tenants/{tid}/group-names',
 *   scope: 'idp.group-names:read',
 *   summary: 'Lists names of groups',
 *   query: pageQuery({ prefix: Type.Optional(Type.String()) }, ['name']),
 *   answer: pageOf(Name),
 *   async handle({ params, query: { prefix = '' }, directory }) {
 *     const all = await directory.forTenant(params.tid).groups.find();
 *     return { items: all.filter(({ name }) => name.startsWith(prefix)).map(({ name }) => ({ name })) };
 *   },
 * });
 * ```
 */
export const pageQuery = <Filters extends TProperties, const Sorts extends readonly string[]>(filters: Filters, sorts: Sorts) =>
  Type.Object(
    {
      ...filters,
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
      after: Type.Optional(Type.String({ minLength: 1, maxLength: 2000, description: '`next` of the previous page.' })),
      sort: Type.Optional(Type.Union(sorts.map((sort) => Type.Literal(sort as Sorts[number])))),
    },
    { additionalProperties: false },
  );

/**
 * Returns the schema of a page of a list. The last page has no `next`. `unreadable` names records that the page leaves out.
 * @example
 * ```ts
 * import { pageOf, Type } from 'tenant-idp/extension';
 *
 * export const names = pageOf(Type.Object({ name: Type.String() }, { additionalProperties: false }));
 * ```
 */
export const pageOf = <Item extends TSchema>(item: Item) =>
  Type.Object(
    { items: Type.Array(item), next: Type.Optional(Type.String()), unreadable: Type.Optional(Type.Array(leftOutItem)) },
    { additionalProperties: false },
  );

const leftOutItem = Type.Object(
  { id: Type.String(), path: Type.String({ description: 'A JSON Pointer to the malformed member.' }) },
  { $id: 'Unreadable', additionalProperties: false, description: 'A record that the page leaves out, because the record is unreadable.' },
);
/** A record that a page leaves out. */
export type LeftOutItem = Static<typeof leftOutItem>;

/**
 * Answers a list of rows of a collection, in the order of their ids.
 * @param query of a {@link pageQuery}
 * @param read reads rows: `list` of a collection, or `find` in an index
 * @param view what a row is answered as
 * @example
 * ```ts
 * import { defineCollection, defineOperation, type ExtensionContext, pageOf, pageOfRows, pageQuery, Type } from 'tenant-idp/extension';
 *
 * const Badge = Type.Object({ number: Type.String() }, { additionalProperties: false });
 * const badges = defineCollection({ name: 'badges.issued', row: Badge });
 * export const badgeList = ({ records }: ExtensionContext) =>
 *   defineOperation({
 *     method: 'GET',
 *     path: '/tenants/{tid}/badges',
 *     scope: 'idp.badges:read',
 *     summary: 'Lists badges',
 *     query: pageQuery({}, ['createdAt']),
 *     answer: pageOf(Badge),
 *     handle: ({ params, query }) => pageOfRows(query, records.collection(badges, params.tid).list, ({ number }) => ({ number })),
 *   });
 * ```
 */
export async function pageOfRows<R extends { readonly id: string }, Item>(
  { limit = 50, after }: { readonly limit?: number; readonly after?: string },
  read: (page: Page) => Promise<readonly R[]>,
  view: (row: R) => Awaitable<Item>,
): Promise<{ items: Item[]; next?: string; unreadable?: LeftOutItem[] }> {
  // Reads one more row, to know whether another page follows.
  const rows = await read({ limit: limit + 1, ...(after !== undefined && { after }) });
  const shown = rows.slice(0, limit);
  const next = rows.length > limit ? shown.at(-1)?.id : undefined;
  return {
    items: await Promise.all(shown.map(async (row) => viewedOrId(row, () => view(row)))),
    ...(next !== undefined && { next }),
    ...leftOutIn(rows),
  };
}

/**
 * Returns the view of a row for a list. If the view throws, returns only the id of the row, so that the admin API can name it in `unreadable`.
 * @example
 * ```ts
 * import { viewedOrId } from 'tenant-idp/extension';
 *
 * const view = ({ since }: { since: Date }) => ({ since: since.toISOString() });
 * export const shown = (row: { id: string; since: Date }) => viewedOrId(row, () => view(row));
 * ```
 */
export async function viewedOrId<Item>({ id }: { readonly id: string }, view: () => Awaitable<Item>): Promise<Item> {
  try {
    return await view();
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    return { id } as Item;
  }
}

/** Returns the callers of an operation. */
export const reachOf = ({ reach, path }: Pick<Operation, 'reach' | 'path'>): Reach =>
  reach ?? (path.startsWith('/tenants/{tid}') ? 'tenant' : 'instance');

/** Returns the route of an operation. The routes of all operations differ. */
export const routeOf = ({ method, path }: Pick<Operation, 'method' | 'path'>): string => routeName(method, path, /\{\w+\}/g);

const methods: readonly unknown[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const isPath = (path: unknown): boolean => typeof path === 'string' && /^(?:\/[a-z][a-z-]*|\/\{[a-zA-Z]+\})+$/.test(path);
const isScope = (scope: unknown): boolean => typeof scope === 'string' && /^idp\.[a-z][a-z-]*:(?:read|write)$/.test(scope);

/** Returns the problems of an extension's operations. @param codes of all errors. */
export function findOperationProblems(
  operations: readonly Operation[],
  extension: string,
  codes: ReadonlySet<string>,
): readonly ConfigProblem[] {
  return operations.flatMap(({ method, path, scope, reach, errors = [], handle, query, body, answer }, index) => {
    const at = (member: string): string => `extensions.${extension}.resources[${index}].${member}`;
    const report = (member: string, expected: string, isRight: boolean): readonly ConfigProblem[] =>
      isRight ? [] : [{ path: at(member), expected }];
    return [
      ...report('method', `one of ${methods.join(', ')}`, methods.includes(method)),
      ...report('path', "a path of lower-case words and {parameters}, such as '/tenants/{tid}/badges/{id}'", isPath(path)),
      ...report('scope', "idp.<resource>:read or idp.<resource>:write, such as 'idp.badges:read'", isScope(scope)),
      ...report('reach', "'instance' or 'any' outside /tenants/{tid}", reach !== 'tenant' || String(path).startsWith('/tenants/{tid}')),
      ...report(
        'errors',
        `codes of errors that exist, without ${errors.filter((code) => !codes.has(code)).join(', ')}`,
        errors.every((code) => codes.has(code)),
      ),
      ...report('handle', 'a function: async (request) => …', typeof handle === 'function'),
      ...Object.entries({ query, body, answer }).flatMap(([member, schema]) => formatProblems(schema, at(member))),
    ];
  });
}
