/**
 * Kinds of text: the characters that each kind refuses, removes and keeps.
 *
 * If a program writes a text, the error names the first refused character (`textProblem`). Texts that users type, and claims of other services, are cleaned
 * (`cleanText`), because users cannot see these characters and so cannot correct them.
 *
 * Passwords, secrets and values that are returned unchanged (`state`, custom parameters, RelayState) have no kind.
 */
import { isEmailAddress } from './email-address.js';
import { normalForm } from './normal-form.js';

/**
 * Kind of a text:
 * - `personName`: given name, surname
 * - `userName`: the name that a user signs in with
 * - `address`: an e-mail address
 * - `line`: names of other records, and descriptions of one line
 * - `text`: lines of text
 */
export type TextKind = 'personName' | 'userName' | 'address' | 'line' | 'text';

/**
 * Characters that are not text: controls, separators of lines and paragraphs, halves of characters, noncharacters, and two replacement characters. U+FFFD
 * replaces an unreadable byte, and U+FFFC replaces an object.
 */
const noText = '\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Noncharacter_Code_Point}\\ufffc\\ufffd';
/** Visible characters of the general category Cf: signs that stand before digits, or frame them. @see Unicode Standard §9.2 */
const seen = '\\u0600-\\u0605\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u{110bd}\\u{110cd}';
/** Invisible characters: format characters, fillers, tags, variation selectors, and the Braille pattern without dots. */
const unseen = `(?:(?![${seen}])[\\p{Cf}\\p{Default_Ignorable_Code_Point}\\u2800])`;
/**
 * Invisible characters that change the shape of their neighbours. The characters are kept after another character, because Persian and Indic scripts,
 * emoji, and names in Han script need them.
 */
const shaping = '\\u200c\\u200d\\p{Variation_Selector}';
const otherSpace = '(?! )\\p{Zs}';

const unseenInNames = `(?![${shaping}])${unseen}`;
/** Shaping characters without a character to shape: at the beginning of the text, after a space, or after another shaping character of the same kind. */
const misplaced = `(?<![^\\s])[${shaping}]|(?<=\\p{Variation_Selector})\\p{Variation_Selector}|(?<=[\\u200c\\u200d])[${shaping}]`;
const ofLine = `[${noText}]|${unseenInNames}|${misplaced}`;

/** Characters that a kind refuses. */
const refused: Readonly<Record<TextKind, RegExp>> = {
  personName: new RegExp(ofLine, 'u'),
  line: new RegExp(ofLine, 'u'),
  // Users type a user name at other keyboards, so private-use characters and other spaces than U+0020 are refused.
  userName: new RegExp(`[${noText}\\p{Co}]|${unseen}|${otherSpace}`, 'u'),
  address: new RegExp(`[${noText}\\p{Co}\\p{Z}]|${unseen}`, 'u'),
  // U+2800 is the space of Braille.
  text: new RegExp(`(?!\\n)[${noText}]|(?!\\u2800)${unseenInNames}|${misplaced}`, 'u'),
};

const everyUnseen = new RegExp(unseen, 'gu');
const blank = new RegExp(`^(?:[\\s${noText}]|${unseen})*$`, 'u');
const ascii = /^[ -~]*$/;

/** A character that a text may not have. */
export interface TextProblem {
  /** The code point in the notation of Unicode: `U+202E`. */
  readonly character: string;
  /** Position of the character: 1 for the first character. */
  readonly position: number;
}

/**
 * Returns the first character that the kind refuses. Undefined if there is no such character.
 * @example
 * ```ts
 * import { textProblem } from 'tenant-idp/extension';
 *
 * console.log(textProblem('userName', 'ola\u200b@acme.test')); // { character: 'U+200B', position: 4 }
 * ```
 */
export function textProblem(kind: TextKind, text: string): TextProblem | undefined {
  if (ascii.test(text)) return undefined;
  const found = refused[kind].exec(text);
  if (!found) return undefined;
  const point = text.codePointAt(found.index) ?? 0;
  return {
    character: `U+${point.toString(16).toUpperCase().padStart(4, '0')}`,
    position: [...text.slice(0, found.index)].length + 1,
  };
}

/**
 * Returns whether the text shows nothing.
 * @example
 * ```ts
 * import { isBlank } from 'tenant-idp/extension';
 *
 * console.log(isBlank('\u200d \u3164')); // true
 * ```
 */
export const isBlank = (text: string): boolean => blank.test(text);

/** Returns the text without invisible characters. */
export const withoutUnseen = (text: string): string => (ascii.test(text) ? text : text.replace(everyUnseen, ''));

const spaces = /[\p{Z}\p{Cc}]+/gu;
const lineSpaces = /(?!\n)[\p{Z}\p{Cc}]/gu;
/** Returns a pattern for the characters that cleaning removes. U+FFFD is kept, so that the text is refused and the user types the letter that was lost. */
const dropped = (kind: TextKind): RegExp => new RegExp(`(?!\\ufffd)(?:${refused[kind].source})`, 'gu');
const drops = { personName: dropped('personName'), line: dropped('line'), userName: dropped('userName'), text: dropped('text') };

/**
 * Returns a text that a user typed or another service sent, without invisible characters. Each run of spaces becomes one space. Spaces at both ends are
 * removed.
 * @example
 * ```ts
 * import { cleanText, type Context, formField } from 'tenant-idp/extension';
 *
 * export const typedName = (ctx: Context): string => cleanText('personName', formField(ctx, 'name'));
 * ```
 */
export function cleanText(kind: TextKind, text: string): string {
  if (kind === 'address') return cleanAddress(text);
  if (kind === 'text')
    return text
      .replace(/\r\n?|[\u2028\u2029]/g, '\n')
      .replace(lineSpaces, ' ')
      .replace(drops.text, '')
      .trim();
  const line = text.replace(spaces, ' ');
  return (ascii.test(line) ? line : line.replace(drops[kind], '')).trim();
}

/** Dots of domains in East Asian scripts. @see Unicode Technical Standard #46 §4.5 */
const dots = /[\u3002\uff0e\uff61]/g;

/** Returns an address without invisible characters. Full-width letters, as keyboards for East Asian scripts write them, become ASCII. */
function cleanAddress(text: string): string {
  const address = withoutUnseen(text).replace(/^[\p{Z}\p{Cc}]+|[\p{Z}\p{Cc}]+$/gu, '');
  if (isEmailAddress(address)) return address;
  const folded = normalForm(address, 'NFKC').replace(dots, '.');
  return isEmailAddress(folded) ? folded : address;
}

/**
 * Returns the digits and letters of a typed code, without spaces and hyphens. Accepts every width, and the digits of every script.
 * @example
 * ```ts
 * import { cleanCode, type Context, formField } from 'tenant-idp/extension';
 *
 * export const isRight = (ctx: Context, code: string): boolean => cleanCode(formField(ctx, 'code')) === code;
 * ```
 */
export const cleanCode = (typed: string): string =>
  withoutUnseen(normalForm(typed, 'NFKC'))
    .replace(/\p{Nd}/gu, digitValue)
    .replace(/[\s\p{Pd}\p{Cc}]/gu, '');

/** Returns the value of a digit. The ten digits of a script follow each other, from zero on. Some scripts have several sets of ten. @see Unicode Standard §4.6 */
function digitValue(digit: string): string {
  const point = digit.codePointAt(0) ?? 0;
  let first = point;
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first -= 1;
  return String((point - first) % 10);
}
