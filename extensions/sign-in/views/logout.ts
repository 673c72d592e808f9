/** Page that asks whether to sign out, because the request does not prove that the user wants it. */
import { html } from '../../../lib/extension-door.js';
import type { PageView } from '../view-models.js';
import { hiddenFields } from './parts/hidden-fields.js';
import type { PageContent, PageContext } from './parts/layout.js';

export function logoutView({ action, fields, personName, appName }: PageView<'logout'>, { text }: PageContext): PageContent {
  return {
    title: appName === undefined ? text('logout.title.plain') : text('logout.title', { app: appName }),
    problem: false,
    body: html`<form class="stack" method="post" action="${action}">
${hiddenFields(fields)}
<p>${personName !== undefined && html`${text('logout.person', { person: personName })} `}${text('logout.message')}</p>
<div class="pair">
<button class="button" type="submit" name="logout" value="yes">${text('logout.submit')}</button>
<button class="button quiet" type="submit">${text('logout.stay')}</button>
</div>
</form>`,
  };
}
