/** What an application of somebody else's may know and do. */
import { html } from '../../../lib/extension-door.js';
import { isScopeText } from '../texts/index.js';
import type { ConsentScope, PageView } from '../view-models.js';
import { person } from './parts/form.js';
import { hiddenFields } from './parts/hidden-fields.js';
import { checkIcon } from './parts/icons.js';
import type { PageContent, PageContext } from './parts/layout.js';

function scopeText({ name, description }: ConsentScope, { text }: PageContext): string {
  const key = `scope.${name}`;
  return isScopeText(key) ? text(key) : (description ?? name);
}

export function consentView(view: PageView<'consent'>, context: PageContext): PageContent {
  const { text, frame } = context;
  const { client } = frame;
  return {
    title: client ? text('consent.title', { client: client.name }) : text('consent.title.plain'),
    problem: false,
    body: html`<form class="stack" method="post" action="${view.action}">
${hiddenFields({ csrf: view.csrf })}
<div class="account">${person(view.personName, [view.userName, view.tenantName])}</div>
<div>
<h2>${text('consent.lead')}</h2>
<ul class="scopes">${view.scopes.map((scope) => html`<li>${checkIcon}<span>${scopeText(scope, context)}</span></li>`)}</ul>
</div>
<div class="pair">
<button class="button" type="submit" name="decision" value="allow">${text('consent.allow')}</button>
<button class="button neutral" type="submit" name="decision" value="deny">${text('cancel')}</button>
</div>
</form>`,
  };
}
