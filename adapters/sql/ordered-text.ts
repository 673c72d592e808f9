/**
 * The parts that the SQL stores share: texts for columns, the text of a row, and the keys of declared indexes.
 *
 * `ordered-text` writes any text of JavaScript as a text that a SQL server stores and sorts, `row-text` writes a row as one text, and `row-index` returns
 * the keys of a row in a declared index. `storable-text` writes a value that is only read back. Nothing here knows a server or its driver.
 */

/** Matches the characters that are escaped. With the flag `u`, a surrogate matches only if it has no partner. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: three of them are escaped
const escaped = /[\0-\u0002\ud800-\udfff\u{10000}-\u{10ffff}]/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const mayNeedEscape = /[\0-\u0002\ud800-\udfff]/;

/** Parts of a key are separated by a character below each character of a part. */
const SEPARATOR = '\u0001';
/** A text above every escaped text. */
const ABOVE_ALL = '\u{10ffff}\u{10ffff}';

/**
 * Returns a text that is stored and sorted by its bytes in UTF-8. Different texts stay different and keep the order of `compareTexts`, also texts that a
 * server refuses: U+0000, and surrogates without a partner. There is no way back, because the row has the text itself.
 */
export const orderedText = (text: string): string => (mayNeedEscape.test(text) ? text.replaceAll(escaped, escapeOf) : text);

/** A lone high surrogate is below all characters that begin with it. A lone low surrogate is above all characters. */
function escapeOf(character: string): string {
  const point = character.codePointAt(0) as number;
  if (point <= 0x2) return `\u0002${String.fromCharCode(point + 2)}`;
  if (point < 0xdc00) return `${String.fromCodePoint(0x10000 + (point - 0xd800) * 0x400)}\u0002`;
  if (point < 0xe000) return `\u{10ffff}\u0003${String.fromCharCode(point - 0xdc00 + 0x100)}`;
  if (point === 0x10ffff) return `${character}\u0002`;
  return point % 0x400 === 0 ? `${character}\u0003` : character;
}

/** Returns a text whose order is the order of the numbers. Instants are sorted by their milliseconds since the epoch. */
export function orderedNumber(value: number): string {
  bits.setFloat64(0, value + 0); // +0 and -0 are one number
  const raw = bits.getBigUint64(0);
  return (raw >> 63n === 0n ? raw | SIGN : ~raw & ALL_BITS).toString(16).padStart(16, '0');
}

const bits = new DataView(new ArrayBuffer(8));
const SIGN = 1n << 63n;
const ALL_BITS = (1n << 64n) - 1n;

/** Returns the key of escaped parts. Keys are in the order of their first part, then of their second part, and so on. */
export const keyOf = (parts: readonly string[]): string => parts.join(SEPARATOR);

/** Returns the bounds of all keys that begin with these parts: the lowest such key, and a key above all of them. */
export const boundsOfKeys = (parts: readonly string[]): { readonly from: string; readonly below: string } => ({
  from: parts.length === 0 ? '' : keyOf(parts) + SEPARATOR,
  below: parts.length === 0 ? ABOVE_ALL : `${keyOf(parts)}\u0002`,
});
