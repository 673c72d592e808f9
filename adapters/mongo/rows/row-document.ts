import { isDate } from 'node:util/types';
import type { Row, Unsaved } from '../../../lib/store/directory-store.js';

/** A row as a document. Members keep their names if MongoDB allows the names, so that an operator can read and query the document. */
export interface RowDocument {
  readonly _id: string;
  readonly version: number;
  readonly [member: string]: unknown;
}

/** Characters with a meaning in MongoDB or in URLs. */
const meaning = /[%.$\0]|^_id$/g;

export const escapedName = (name: string): string =>
  name.replace(meaning, (text) => `%${text.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}${text.slice(1)}`);

const plainName = (name: string): string =>
  name.replace(/%([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

/** @throws TypeError for a value that is not plain data. */
export function documentOf({ id, version: _, ...members }: Unsaved<Row>, version: number): RowDocument {
  if (typeof id !== 'string' || id === '') throw new TypeError('The id of a row is empty, or not a string. Give the row a text as id.');
  return { ...(escaped(members, '') as Record<string, unknown>), _id: id, version };
}

/** Returns the row of a document, deeply frozen. */
export function rowOf<R extends Row>({ _id, version, ...members }: RowDocument): R {
  return Object.freeze({ ...(plain(members) as Record<string, unknown>), id: _id, version }) as unknown as R;
}

function escaped(value: unknown, path: string): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (isDate(value) && Number.isFinite(value.getTime())) return new Date(value);
  if (Array.isArray(value)) return value.map((element, index) => escaped(element, `${path}[${index}]`));
  if (isPlainObject(value)) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    // `fromEntries` defines members, so a member named `__proto__` stays a member.
    return Object.fromEntries(members.map(([name, member]) => [escapedName(name), escaped(member, `${path}.${name}`)]));
  }
  throw new TypeError(`A row has a value that is not plain data at '${path.replace(/^\./, '')}'. Write values of JSON, and dates.`);
}

function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || isDate(value)) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(plain));
  return Object.freeze(Object.fromEntries(Object.entries(value).map(([name, member]) => [plainName(name), plain(member)])));
}

/** Checks the length of the prototype chain, which is the same for objects of every realm. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
