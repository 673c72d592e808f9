/** Choice of the organisation to sign in to. */
import { type Html, html } from '../../../lib/extension-door.js';
import type { PageView } from '../view-models.js';
import { cancelButton, field, item, problemSummary } from './parts/form.js';
import { hiddenFields } from './parts/hidden-fields.js';
import { chevronIcon } from './parts/icons.js';
import type { PageContent, PageContext } from './parts/layout.js';
import { problemText } from './parts/sign-in-words.js';

export function organisationView(view: PageView<'organisation'>, context: PageContext): PageContent {
  const { text } = context;
  const problem = problemText(view, context);
  return {
    title: text('organisation.title'),
    problem: problem !== undefined,
    body: html`<form class="stack" method="post" action="${view.action}">
${problemSummary(problem)}
${hiddenFields({ csrf: view.csrf, identifier: view.identifier })}
${search(view, context)}
<ul class="choices">${view.choices.map(
      ({ value, tenantName, personName, userName }) => html`<li>
<button class="account" type="submit" name="choice" value="${value}">${item(tenantName, [personName, userName])}${chevronIcon}</button>
</li>`,
    )}</ul>
<button class="text-link centred" type="submit" name="back" value="yes">${text('accounts.other')}</button>
${cancelButton(view, context)}
</form>`,
  };
}

/** Returns the search. The search comes before the choices, so that Enter presses its button. */
const search = ({ find, choices }: PageView<'organisation'>, context: PageContext): Html | false =>
  find !== undefined &&
  html`${hiddenFields({ all: find.all })}
<div class="search">
${field(
  {
    name: 'search',
    label: context.text('organisation.search'),
    type: 'text',
    autocomplete: 'off',
    value: find.search,
    isOptional: true,
    autofocus: find.search !== '',
  },
  context,
)}
<button class="button quiet" type="submit" name="find" value="yes">${context.text('organisation.find')}</button>
</div>
${choices.length === 0 && html`<p role="status">${context.text('organisation.none')}</p>`}`;
