/** The session is over. */
import { html } from '../../../lib/http/html.js';
import type { PageView } from '../view-models.js';
import { doneMark } from './icons.js';
import type { PageContent, PageContext } from './layout.js';
import { buttonLink } from './notice.js';

export const signedOutView = ({ returnUrl }: PageView<'signed-out'>, { text, frame }: PageContext): PageContent => ({
  title: text('signedOut.title'),
  mark: { icon: doneMark, problem: false },
  problem: false,
  body: html`<div class="stack"><p>${text('signedOut.message')}</p>${
    returnUrl !== undefined && buttonLink(returnUrl, frame.client ? text('back', { client: frame.client.name }) : text('back.plain'))
  }</div>`,
});
