/** Page about an expired sign-in. */
import { type Html, html } from '../../../lib/extension-door.js';
import type { PageView } from '../view-models.js';
import { buttonLink, failure, wayBack } from './notice.js';
import { hiddenFields } from './parts/hidden-fields.js';
import { clockMark } from './parts/icons.js';
import type { PageContent, PageContext } from './parts/layout.js';

function wayOn({ restart, clientUri }: PageView<'expired'>, context: PageContext): Html | false {
  const { text } = context;
  if (restart?.csrf !== undefined) {
    return html`<form method="post" action="${restart.action}">${hiddenFields({ csrf: restart.csrf })}
<button class="button" type="submit">${text('startAgain')}</button></form>`;
  }
  if (restart) return buttonLink(restart.action, text('startAgain'));
  return wayBack(clientUri ?? context.frame.client?.uri, context);
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
