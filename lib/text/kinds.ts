/**
 * Kinds of text: which characters each kind refuses, drops and keeps.
 *
 * A program that writes a text of a kind is told of the first character that the kind refuses (`textProblem`). What people type, and what other
 * services tell, is cleaned of it (`cleanText`), because nobody sees these characters and nobody can correct them.
 *
 * Passwords, secrets and values that are handed back as they came (`state`, custom parameters, RelayState) are of no kind.
 */
import { isEmailAddress } from './email-address.js';
import { normalForm } from './normal-form.js';

/**
 * - `personName`: given name, surname
 * - `userName`: the name that a user signs in with
 * - `address`: an e-mail address
 * - `line`: names of other records, and descriptions of one line
 * - `text`: lines of text
 */
export type TextKind = 'personName' | 'userName' | 'address' | 'line' | 'text';

/**
 * Characters that are no text: controls, separators of lines and paragraphs, halves of characters, code points that will never be one, and the marks
 * that stand for a byte or an object that a program could not read.
 */
const noText = '\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Noncharacter_Code_Point}\\ufffc\\ufffd';
/** Signs of the general category Cf that are seen: they stand before digits, as a frame around them. @see Unicode Standard §9.2 */
const seen = '\\u0600-\\u0605\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u{110bd}\\u{110cd}';
/** Characters without a form: format characters, fillers, tags, variation selectors, and the Braille pattern without dots. */
const unseen = `(?:(?![${seen}])[\\p{Cf}\\p{Default_Ignorable_Code_Point}\\u2800])`;
/**
 * Characters without a form that change the form of those beside them. Persian and Indic scripts, emoji, and names in Han script need them: between other
 * characters they stay.
 */
const shaping = '\\u200c\\u200d\\p{Variation_Selector}';
const otherSpace = '(?! )\\p{Zs}';

const unseenInNames = `(?![${shaping}])${unseen}`;
/** Shaping characters without a character to shape: first in the text, after a space, or after another one of their sort. */
const misplaced = `(?<![^\\s])[${shaping}]|(?<=\\p{Variation_Selector})\\p{Variation_Selector}|(?<=[\\u200c\\u200d])[${shaping}]`;
const ofLine = `[${noText}]|${unseenInNames}|${misplaced}`;

/** Characters that a kind refuses. */
const refused: Readonly<Record<TextKind, RegExp>> = {
  personName: new RegExp(ofLine, 'u'),
  line: new RegExp(ofLine, 'u'),
  // A user name is compared with what somebody types at another keyboard: no character of private use, one kind of space.
  userName: new RegExp(`[${noText}\\p{Co}]|${unseen}|${otherSpace}`, 'u'),
  address: new RegExp(`[${noText}\\p{Co}\\p{Z}]|${unseen}`, 'u'),
  // Braille needs its space.
  text: new RegExp(`(?!\\n)[${noText}]|(?!\\u2800)${unseenInNames}|${misplaced}`, 'u'),
};

const everyUnseen = new RegExp(unseen, 'gu');
const blank = new RegExp(`^(?:[\\s${noText}]|${unseen})*$`, 'u');
const ascii = /^[ -~]*$/;

/** A character that a text may not have. */
export interface TextProblem {
  /** As Unicode writes it: `U+202E`. */
  readonly character: string;
  /** Its place: 1 for the first character. */
  readonly position: number;
}

/**
 * Returns the first character that the kind refuses. Undefined if there is none.
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
 * Returns whether nothing of the text is seen.
 * @example
 * ```ts
 * import { isBlank } from 'tenant-idp/extension';
 *
 * console.log(isBlank('\u200d \u3164')); // true
 * ```
 */
export const isBlank = (text: string): boolean => blank.test(text);

/** Returns the text without the characters that nobody sees. */
export const withoutUnseen = (text: string): string => (ascii.test(text) ? text : text.replace(everyUnseen, ''));

const spaces = /[\p{Z}\p{Cc}]+/gu;
const lineSpaces = /(?!\n)[\p{Z}\p{Cc}]/gu;
/** U+FFFD stays, because a name without it is another name: people are asked for the letter that stood there. */
const dropped = (kind: TextKind): RegExp => new RegExp(`(?!\\ufffd)(?:${refused[kind].source})`, 'gu');
const drops = { personName: dropped('personName'), line: dropped('line'), userName: dropped('userName'), text: dropped('text') };

/**
 * Returns what somebody meant who typed or pasted the text, or what another service meant: without characters that nobody sees, with one space for each
 * run of spaces, and with none at its ends.
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

/** An address as it was meant. Letters of another width, which keyboards for East Asian scripts write, are ASCII. */
function cleanAddress(text: string): string {
  const address = withoutUnseen(text).replace(/^[\p{Z}\p{Cc}]+|[\p{Z}\p{Cc}]+$/gu, '');
  if (isEmailAddress(address)) return address;
  const folded = normalForm(address, 'NFKC').replace(dots, '.');
  return isEmailAddress(folded) ? folded : address;
}

/**
 * Returns digits and letters of a code that the service gave, whatever width, script, spaces and hyphens it was typed with.
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

/** The digits of each script follow each other, from zero on. Some scripts have several tens. @see Unicode Standard §4.6 */
function digitValue(digit: string): string {
  const point = digit.codePointAt(0) ?? 0;
  let first = point;
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first -= 1;
  return String((point - first) % 10);
}
