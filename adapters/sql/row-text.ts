import { isDate } from 'node:util/types';
import type { Row, Unsaved } from '../../lib/store/directory-store.js';
import { orderedText } from './ordered-text.js';

/**
 * Name of the member that encodes an instant as `{"$instant":milliseconds}`, because JSON has no instants.
 *
 * The text of a row is the JSON of all members except the version, which has its own column. A member whose name begins with `$` is written with one more
 * `$`.
 */
const INSTANT = '$instant';

/** Returns the text of a row. @throws TypeError for a value that is not plain data, and for an id that is empty or not a string. */
export function textOfRow({ version: _, ...members }: Unsaved<Row>): string {
  if (typeof members.id !== 'string' || members.id === '')
    throw new TypeError('The id of a row is empty, or not a string. Give the row a text as id.');
  return JSON.stringify(encoded(members, ''));
}

/**
 * Returns the deeply frozen row of a stored text. A text that is not a JSON object becomes a row with the member `unreadable`, so that the checks of the
 * service refuse the row.
 * @param column the escaped id of the row
 */
export function rowOfText<R extends Row>(column: string, version: number, text: string): R {
  const members = membersOf(text);
  const isOwn = typeof members.id === 'string' && orderedText(members.id) === column;
  return Object.freeze({ ...members, ...(isOwn ? {} : { id: column }), version }) as unknown as R;
}

function membersOf(text: string): Record<string, unknown> {
  try {
    const members = decoded(JSON.parse(text));
    if (isPlainObject(members)) return members;
  } catch {
    // The text is not JSON.
  }
  return { unreadable: text };
}

function encoded(value: unknown, path: string): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (isDate(value) && Number.isFinite(value.getTime())) return { [INSTANT]: value.getTime() };
  if (Array.isArray(value)) return value.map((element, index) => encoded(element, `${path}[${index}]`));
  if (isPlainObject(value)) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    // `Object.fromEntries` defines own members, so that a member named `__proto__` is kept.
    return Object.fromEntries(
      members.map(([name, member]) => [name.startsWith('$') ? `$${name}` : name, encoded(member, `${path}.${name}`)]),
    );
  }
  throw new TypeError(`A row has a value that is not plain data at '${path.replace(/^\./, '')}'. Write values of JSON, and dates.`);
}

function decoded(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(decoded));
  const members = Object.entries(value);
  const [first] = members;
  if (first?.[0] === INSTANT) return new Date(first[1] as number);
  return Object.freeze(Object.fromEntries(members.map(([name, member]) => [name.startsWith('$') ? name.slice(1) : name, decoded(member)])));
}

/**
 * Returns whether a value is a plain object of any realm. The length of the prototype chain is checked, because each realm has its own `Object.prototype`.
 */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
