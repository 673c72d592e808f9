/**
 * Words that keep together at the end of a line. Browsers break `e-mail` after its hyphen. A style keeps these words together, because a non-breaking
 * hyphen would change the text that screen readers speak and that people copy.
 */
import { Html } from '../../../../lib/extension-door.js';

/**
 * Text between two tags that has such a word, with the tag of a button or a link before it. The content of `textarea` is a value, in which a tag would be
 * text.
 */
const texts = /<textarea\b[\s\S]*?<\/textarea>|(<(?:button|a)\b[^>]*)?>([^<]*e-(?:mail|post)[^<]*)/gi;
/** A word that begins with `e-mail` or `e-post`, not a part of an address. The length is limited, so that the word fits on every screen. */
const word = /(?<![\p{L}\p{N}@._-])e-(?:mail|post)(?:-?\p{L}{1,9})?(?![\p{L}\p{N}@_-])/giu;

/** Returns markup with a `span` around each word that must not break. */
export const withWholeWords = ({ markup }: Html): Html =>
  new Html(
    markup.replace(texts, (all: string, tag: string | undefined, text: string | undefined) => {
      const whole = text?.replace(word, (found) => `<span class="whole">${found}</span>`);
      if (whole === undefined || whole === text) return all;
      // A button arranges its content in a row, in which the text has to stay one item.
      return tag === undefined ? `>${whole}` : `${tag}><span>${whole}</span>`;
    }),
  );
