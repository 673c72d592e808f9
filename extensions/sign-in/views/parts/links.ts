/** Links that leave the page open: they open in a new window, so that a form keeps its fields. */
import { type Html, html } from '../../../../lib/extension-door.js';

/** Returns a link that stands alone. */
export const outsideLink = (href: string, label: string): Html =>
  html`<a class="text-link" href="${href}" target="_blank" rel="noopener noreferrer">${label}</a>`;

/** Returns a sentence with a link in it. @param sentence with `{link}` where the link stands */
export function withLink(sentence: string, href: string, label: string): Html {
  const [before = '', after = ''] = sentence.split('{link}');
  return html`${before}<a href="${href}" target="_blank" rel="noopener noreferrer">${label}</a>${after}`;
}
