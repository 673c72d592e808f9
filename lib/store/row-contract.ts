/** Checks of the directory store's contract that are the same in each adapter: rows, queries and indexed values. */
import { isDate } from 'node:util/types';
import type { Order, Page } from './directory-store.js';

/** Form in which a store keeps plain data. */
export interface DataForm {
  /** Returns the form of an instant. */
  readonly instant: (value: Date) => unknown;
  /** Returns the form of an object, from its members in their forms. A member named `__proto__` is a member. */
  readonly object: (members: readonly (readonly [name: string, member: unknown])[]) => unknown;
  /** Returns the form of an array, from its elements in their forms. */
  readonly array: (elements: readonly unknown[]) => unknown;
  /** Returns whether a value already has its form. */
  readonly isFormed?: (value: object) => boolean;
}

/**
 * Returns a value in the form of a store. Members that are undefined are left out.
 * @throws TypeError for a value that is not plain data, because other stores cannot store such a value.
 */
export function formOf(value: unknown, form: DataForm, path = ''): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (isDate(value) && Number.isFinite(value.getTime())) return form.instant(value);
  if (typeof value === 'object' && form.isFormed?.(value)) return value;
  if (Array.isArray(value)) return form.array(value.map((element, index) => formOf(element, form, `${path}[${index}]`)));
  if (isPlainObject(value)) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    return form.object(members.map(([name, member]) => [name, formOf(member, form, `${path}.${name}`)] as const));
  }
  throw new TypeError(`A row has a value that is not plain data at '${path.replace(/^\./, '')}'. Write values of JSON, and dates.`);
}

/**
 * Returns whether a value is a plain object of any realm. The length of the prototype chain is checked, because each realm has its own `Object.prototype`.
 */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Checks the id of a row that is written. @throws TypeError */
export function checkNewId(id: unknown): asserts id is string {
  if (typeof id !== 'string' || id === '') throw new TypeError('The id of a row is empty, or not a string. Give the row a text as id.');
}

/** Checks an id that is looked up. An object in place of an id could be a query. @throws TypeError */
export function checkId(id: unknown): asserts id is string {
  if (typeof id !== 'string') throw new TypeError('The id of a row is not a string. Give a text as id.');
}

/** Checks that an update keeps the id of its row. @throws TypeError */
export function checkKeptId(id: string, next: { readonly id: string }): void {
  if (next.id !== id) throw new TypeError('An update changes the id of a row. Insert another row instead.');
}

/** @throws TypeError for a page without a limit */
export function checkPage(page: Page | undefined): void {
  if (page === undefined || (Number.isInteger(page.limit) && page.limit > 0)) return;
  throw new TypeError('The limit of the page is not a positive whole number. Give 1 or more.');
}

/** Returns the collection of this name. @throws TypeError for a collection that was not opened */
export function openedCollection<Rows>(collections: ReadonlyMap<string, Rows>, name: string): Rows {
  const rows = collections.get(name);
  if (rows === undefined) throw new TypeError(`The collection '${name}' was not opened. Name it in open.`);
  return rows;
}

/** Query by an index. `values` are not checked. */
export interface IndexQuery<Index> {
  readonly name: string;
  readonly index: Index;
  readonly values: readonly unknown[];
}

/** Returns the index of a query; undefined for a query for all rows. @throws TypeError unless the query names one index */
export function indexQueryOf<Index>(where: object, collection: string, indexes: ReadonlyMap<string, Index>): IndexQuery<Index> | undefined {
  const [query, ...others] = Object.entries(where) as [string, readonly unknown[]][];
  if (query === undefined) return undefined;
  const [name, values] = query;
  const index = indexes.get(name);
  if (index !== undefined && others.length === 0) return { name, index, values };
  throw new TypeError(`The query of '${collection}' is not by one index of it. Query by one of ${[...indexes.keys()].join(', ')}.`);
}

/** Returns the index of a range. @throws TypeError for an index that was not opened */
export function rangedIndex<Index>(name: string, collection: string, indexes: ReadonlyMap<string, Index>): Index {
  const index = indexes.get(name);
  if (index === undefined) throw new TypeError(`'${collection}' has no index '${name}'. Name an index that was opened.`);
  return index;
}

/**
 * Returns the values of a look-up.
 * @throws TypeError for an index of instants or numbers, and unless there is one text for each field of the index
 */
export function lookUpTexts(values: readonly unknown[], fields: number, order: Order = 'text'): readonly string[] {
  if (order !== 'text') throw new TypeError('An index of instants or numbers has no look-up. Read it by a range.');
  if (values.length === fields && values.every((value) => typeof value === 'string')) return values;
  throw new TypeError(`The look-up does not have ${fields} strings. Give one for each field of the index.`);
}

/** Returns the error for a range of an index without an order. */
export const noOrder = (index: string): TypeError => new TypeError(`The index '${index}' has no order. Name an index that has one.`);

/** Returns the values of a row at the paths of an index. */
export const valuesAt = (row: object, fields: readonly string[]): readonly unknown[] =>
  fields.map((field) => valueAt(row, field.split('.')));

/** Returns the value at a path of own members. */
export function valueAt(row: object, path: readonly string[]): unknown {
  let value: unknown = row;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/**
 * Checks the values of a row in an index.
 * @param isOrdered whether the last field orders the index
 * @throws TypeError if several of the values are arrays, or if the ordering value is an array
 */
export function checkIndexable(values: readonly unknown[], isOrdered: boolean): void {
  if (isOrdered && Array.isArray(values.at(-1))) {
    throw new TypeError('A row has an array in the field that orders an index. Write one value in this field.');
  }
  if (values.filter(Array.isArray).length > 1) {
    throw new TypeError('A row has more than one array among the fields of an index. Write an array in one of these fields only.');
  }
}
