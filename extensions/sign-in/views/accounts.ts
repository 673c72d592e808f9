/** Account chooser: the accounts that this browser knows. */
import { html } from '../../../lib/extension-door.js';
import type { PageView } from '../view-models.js';
import { cancelButton, person } from './parts/form.js';
import { hiddenFields } from './parts/hidden-fields.js';
import { chevronIcon } from './parts/icons.js';
import type { PageContent, PageContext } from './parts/layout.js';

export function accountsView(view: PageView<'accounts'>, context: PageContext): PageContent {
  const { text } = context;
  return {
    title: text('accounts.title'),
    problem: false,
    body: html`<form class="stack" method="post" action="${view.action}">
${hiddenFields({ csrf: view.csrf })}
<ul class="choices">${view.choices.map(
      ({ value, tenantName, personName, userName, isSignedIn }) => html`<li>
<button class="account" type="submit" name="choice" value="${value}">${person(personName, [
        userName,
        tenantName,
        ...(isSignedIn ? [] : [text('accounts.signedOut')]),
      ])}${chevronIcon}</button>
${
  !isSignedIn &&
  html`<button class="text-link" type="submit" name="forget" value="${value}">${text('accounts.forget', { name: userName })}</button>`
}
</li>`,
    )}</ul>
<a class="button quiet" href="${view.other}">${text('accounts.other')}</a>
${cancelButton(view, context)}
</form>`,
  };
}
