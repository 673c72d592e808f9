/** A sign-in that was left for too long. */
import { type Html, html } from '../../../lib/http/html.js';
import type { PageView } from '../view-models.js';
import { hiddenFields } from './form.js';
import { clockMark } from './icons.js';
import type { PageContent, PageContext } from './layout.js';
import { buttonLink, failure } from './notice.js';

function wayOn({ restart, clientUri }: PageView<'expired'>, { text, frame }: PageContext): Html | false {
  if (restart?.csrf !== undefined) {
    return html`<form method="post" action="${restart.action}">${hiddenFields({ csrf: restart.csrf })}
<button class="button" type="submit">${text('startAgain')}</button></form>`;
  }
  if (restart) return buttonLink(restart.action, text('startAgain'));
  if (clientUri === undefined) return false;
  return buttonLink(clientUri, frame.client ? text('back', { client: frame.client.name }) : text('back.plain'));
}

export function expiredView(view: PageView<'expired'>, context: PageContext): PageContent {
  const { text, frame } = context;
  const where = frame.client ? text('expired.client', { client: frame.client.name }) : text('expired.client.plain');
  return failure({
    title: text('expired.title'),
    message: view.restart ? text('expired.message') : `${text('expired.message')} ${where}`,
    icon: clockMark,
    more: wayOn(view, context),
  });
}
