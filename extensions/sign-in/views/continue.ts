/** Page that posts fields to another address: the form_post response mode, and sign-out without a question. */
import { html } from '../../../lib/extension-door.js';
import type { PageView } from '../view-models.js';
import { hiddenFields } from './parts/hidden-fields.js';
import type { PageContent, PageContext } from './parts/layout.js';

/** Takes `submit` from the prototype, because a field may have the name `submit`. */
const submitScript = 'HTMLFormElement.prototype.submit.call(document.querySelector("form"))';

/** @see OAuth 2.0 Form Post Response Mode §2 */
export function continueView({ action, fields, method }: PageView<'continue'>, { text, frame }: PageContext): PageContent {
  const { client } = frame;
  return {
    title: client ? text('continue.title', { client: client.name }) : text('continue.title.plain'),
    problem: false,
    body: html`<form class="stack" method="${method}" action="${action}">
${hiddenFields(fields)}
<div class="wait"><div class="waiting"></div><p class="lead">${text('continue.message')}</p></div>
<noscript><p>${text('continue.noscript')}</p><button class="button" type="submit">${text('continue.submit')}</button></noscript>
</form>`,
    script: submitScript,
  };
}
