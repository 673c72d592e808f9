import { isDate } from 'node:util/types';
import type { Order, Ordered, Range } from './directory-store.js';

/** Compares texts by code points, as UTF-8 and MongoDB sort them. The operators of JavaScript compare halves of surrogate pairs. */
export function compareTexts(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index += 1) {
    const [unit, against] = [one.charCodeAt(index), other.charCodeAt(index)];
    if (unit !== against) return weight(unit) - weight(against);
  }
  return one.length - other.length;
}

/** Returns the rank of a code unit. Surrogates rank above all other code units. */
const weight = (unit: number): number => (unit < 0xd800 || unit > 0xdfff ? unit : unit + 0x10000);

/** Compares two values of the same kind. */
export const compareOrdered = (one: Ordered, other: Ordered): number =>
  typeof one === 'string' ? compareTexts(one, other as string) : Number(one) - Number(other);

export const isOrdered = (value: unknown, order: Order): value is Ordered => {
  if (order === 'text') return typeof value === 'string';
  if (order === 'number') return typeof value === 'number' && Number.isFinite(value);
  return isDate(value) && Number.isFinite(value.getTime());
};

/** Returns the bounds of a range, with its prefix converted to bounds. @throws TypeError for a range that does not fit this index. */
export function boundsOf(
  { within, from, below, prefix, after, limit }: Range,
  fields: readonly string[],
  order: Order,
): { readonly from?: Ordered; readonly below?: Ordered } {
  if (!(Number.isInteger(limit) && limit > 0))
    throw new TypeError('The limit of the range is not a positive whole number. Give 1 or more.');
  if (within.length !== fields.length - 1 || !within.every((value) => typeof value === 'string'))
    throw new TypeError(`The range is not within ${fields.length - 1} strings. Give one for each field of the index before the last.`);
  const values = [from, below, after?.value].filter((value) => value !== undefined);
  if (!values.every((value) => isOrdered(value, order)))
    throw new TypeError(`A value of the range does not fit the index. Give values of the kind ${order}.`);
  if (after !== undefined && typeof after.id !== 'string')
    throw new TypeError('The id of the position is not a string. Give the id of a row.');
  if (prefix === undefined) return { ...(from !== undefined && { from }), ...(below !== undefined && { below }) };
  if (order !== 'text' || typeof prefix !== 'string')
    throw new TypeError('The prefix is not a string, or the index is not of texts. Give from and below instead.');
  const end = endOfPrefix(prefix);
  const lowest = from !== undefined && compareOrdered(from, prefix) > 0 ? from : prefix;
  const highest = below !== undefined && (end === undefined || compareOrdered(below, end) < 0) ? below : end;
  return { from: lowest, ...(highest !== undefined && { below: highest }) };
}

/** Returns the lowest text above all texts with this prefix; undefined when there is none. */
function endOfPrefix(prefix: string): string | undefined {
  const points = [...prefix].map((character) => character.codePointAt(0) as number);
  while (points.at(-1) === 0x10ffff) points.pop();
  const last = points.pop();
  // The code points of surrogates are not characters.
  return last === undefined ? undefined : String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}

/**
 * Returns the position behind a full page of rows, which are ordered by id; undefined where no page can follow. Another program may have
 * written ids that are not texts. No page begins behind such an id, so a page with only such rows leads to the first text.
 * @param after the position at which the page began
 */
export const positionBehind = (page: readonly { readonly id: unknown }[], after: string | undefined): string | undefined =>
  page.map(({ id }) => id).findLast((id) => typeof id === 'string') ?? (after === undefined ? '' : undefined);
