import { normalForm } from './normal-form.js';

/**
 * Segmenter for letters as a reader counts them. An emoji of several characters, or a letter with its marks, is one letter. The first use creates the
 * segmenter, because it reads the rules of Unicode. @see Unicode Standard Annex #29 §3
 */
let graphemes: Intl.Segmenter | undefined;

/** Maximum UTF-16 code units of a letter. The family emoji with skin tones has 27. */
const LONGEST = 40;

/**
 * Returns the first letter of a name, as a capital if the script of the letter has capitals. Empty for an empty name.
 * @example
 * ```ts
 * import { initialOf } from 'tenant-idp/extension';
 *
 * console.log(initialOf('åsa'), initialOf('👨‍👩‍👧 Family')); // Å 👨‍👩‍👧
 * ```
 */
export function initialOf(name: string): string {
  graphemes ??= new Intl.Segmenter('und', { granularity: 'grapheme' });
  const [first] = graphemes.segment(normalForm(name.trim().slice(0, 2 * LONGEST), 'NFC'));
  const letter = first?.segment ?? '';
  const [base = ''] = letter;
  return (letter.length > LONGEST ? base : letter).toUpperCase();
}
