import { isDate } from 'node:util/types';
import type { Row, Unsaved } from '../../../lib/store/directory-store.js';
import { checkNewId, type DataForm, formOf } from '../../../lib/store/row-contract.js';

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
  checkNewId(id);
  return { ...(formOf(members, form) as Record<string, unknown>), _id: id, version };
}

/** Returns the row of a document, deeply frozen. */
export function rowOf<R extends Row>({ _id, version, ...members }: RowDocument): R {
  return Object.freeze({ ...(plain(members) as Record<string, unknown>), id: _id, version }) as unknown as R;
}

const form: DataForm = {
  instant: (value) => new Date(value),
  object: (members) => Object.fromEntries(members.map(([name, member]) => [escapedName(name), member])),
  array: (elements) => elements,
};

function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || isDate(value)) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(plain));
  return Object.freeze(Object.fromEntries(Object.entries(value).map(([name, member]) => [plainName(name), plain(member)])));
}
