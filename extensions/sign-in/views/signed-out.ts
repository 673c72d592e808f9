/** The session is over. */
import { html } from '../../../lib/http/html.js';
import type { PageView } from '../view-models.js';
import { doneMark } from './icons.js';
import type { PageContent, PageContext } from './layout.js';
import { wayBack } from './notice.js';

export const signedOutView = ({ returnUrl }: PageView<'signed-out'>, context: PageContext): PageContent => ({
  title: context.text('signedOut.title'),
  mark: { icon: doneMark, problem: false },
  problem: false,
  body: html`<div class="stack"><p>${context.text('signedOut.message')}</p>${wayBack(returnUrl, context)}</div>`,
});
