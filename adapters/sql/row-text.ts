import type { Row, Unsaved } from '../../lib/store/directory-store.js';
import { checkNewId, type DataForm, formOf, isPlainObject } from '../../lib/store/row-contract.js';
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
  checkNewId(members.id);
  return JSON.stringify(formOf(members, form));
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

const form: DataForm = {
  instant: (value) => ({ [INSTANT]: value.getTime() }),
  object: (members) => Object.fromEntries(members.map(([name, member]) => [name.startsWith('$') ? `$${name}` : name, member])),
  array: (elements) => elements,
};

function decoded(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(decoded));
  const members = Object.entries(value);
  const [first] = members;
  if (first?.[0] === INSTANT) return new Date(first[1] as number);
  return Object.freeze(Object.fromEntries(members.map(([name, member]) => [name.startsWith('$') ? name.slice(1) : name, decoded(member)])));
}
