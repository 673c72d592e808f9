/**
 * Text: rules for what users and programs write, for every use.
 *
 * Normalisation of Unicode text. The text may come from anybody, so the work must not grow faster than the length of the text.
 *
 * @see Unicode Standard Annex #15
 */

/** Number of consecutive marks that no language needs. */
const MOST_MARKS = 30;
/** COMBINING GRAPHEME JOINER: no mark is moved across it. */
const JOINER = '\u034f';

/** Too many consecutive marks. Letters that become marks count as marks too: the sound marks of halfwidth katakana. */
const tooManyMarks = /[\p{M}\uff9e\uff9f]{30}(?=[\p{M}\uff9e\uff9f])/gu;

/**
 * Returns the text in a normal form. A joiner is put after each thirtieth consecutive mark, because the time to sort marks grows with the square of their
 * number.
 * @see Unicode Standard Annex #15 §13, Stream-Safe Text Format
 */
export const normalForm = (text: string, form: 'NFC' | 'NFKC'): string =>
  (text.length > MOST_MARKS ? text.replace(tooManyMarks, `$&${JOINER}`) : text).normalize(form);
