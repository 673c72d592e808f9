/**
 * Code that the SQL stores share: texts for columns, the text of a row, and the index keys of a row.
 *
 * `ordered-text` converts any text of JavaScript to a text that an SQL server stores and sorts. `row-text` converts a row to one text.
 * `row-index` returns the index keys of a row. `storable-text` escapes a value that needs no order.
 * No file in this folder depends on a server or its driver.
 */

/** Pattern of the characters that are escaped. Because of the flag `u`, a surrogate matches only if the surrogate has no partner. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: three control characters are escaped
const escaped = /[\0-\u0002\ud800-\udfff\u{10000}-\u{10ffff}]/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: three control characters are escaped
const mayNeedEscape = /[\0-\u0002\ud800-\udfff]/;

/** Separator between the parts of an index key. The separator sorts below each character of an escaped part. */
const SEPARATOR = '\u0001';
/** Text that sorts above every escaped text. */
const ABOVE_ALL = '\u{10ffff}\u{10ffff}';

/**
 * Returns a text that a server stores and sorts by its bytes in UTF-8. Different texts stay different, in the order of `compareTexts`. U+0000 and
 * surrogates without a partner are escaped, because servers refuse them. No function decodes the text, because the row has the original text.
 */
export const orderedText = (text: string): string => (mayNeedEscape.test(text) ? text.replaceAll(escaped, escapeOf) : text);

/**
 * Returns the escape of one character. The escape of a lone high surrogate sorts below all characters that begin with this surrogate. The escape of a lone
 * low surrogate sorts above all characters.
 */
function escapeOf(character: string): string {
  const point = character.codePointAt(0) as number;
  if (point <= 0x2) return `\u0002${String.fromCharCode(point + 2)}`;
  if (point < 0xdc00) return `${String.fromCodePoint(0x10000 + (point - 0xd800) * 0x400)}\u0002`;
  if (point < 0xe000) return `\u{10ffff}\u0003${String.fromCharCode(point - 0xdc00 + 0x100)}`;
  if (point === 0x10ffff) return `${character}\u0002`;
  return point % 0x400 === 0 ? `${character}\u0003` : character;
}

/** Returns the text of a number. Texts of numbers sort in the order of the numbers. The number of an instant is its milliseconds since the epoch. */
export function orderedNumber(value: number): string {
  bits.setFloat64(0, value + 0); // -0 + 0 is +0, so both zeros have the same text
  const raw = bits.getBigUint64(0);
  return (raw >> 63n === 0n ? raw | SIGN : ~raw & ALL_BITS).toString(16).padStart(16, '0');
}

const bits = new DataView(new ArrayBuffer(8));
const SIGN = 1n << 63n;
const ALL_BITS = (1n << 64n) - 1n;

/** Returns the index key of escaped parts. Index keys sort by the first part, then by the second part, and so on. */
export const keyOf = (parts: readonly string[]): string => parts.join(SEPARATOR);

/** Returns bounds of the index keys that begin with these parts. `from` is the lowest bound, and `below` is a text above all these index keys. */
export const boundsOfKeys = (parts: readonly string[]): { readonly from: string; readonly below: string } => ({
  from: parts.length === 0 ? '' : keyOf(parts) + SEPARATOR,
  below: parts.length === 0 ? ABOVE_ALL : `${keyOf(parts)}\u0002`,
});
