/** Which of a person's organisations to sign in to. */
import { html } from '../../../lib/extension-door.js';
import type { PageView } from '../view-models.js';
import { cancelButton, person, problemSummary } from './parts/form.js';
import { hiddenFields } from './parts/hidden-fields.js';
import { chevronIcon } from './parts/icons.js';
import type { PageContent, PageContext } from './parts/layout.js';
import { problemText } from './parts/sign-in-words.js';

export function organisationView(view: PageView<'organisation'>, context: PageContext): PageContent {
  const { text, frame } = context;
  const problem = problemText(view, context);
  return {
    title: text('organisation.title'),
    ...(frame.client && { lead: text('organisation.lead', { client: frame.client.name }) }),
    problem: problem !== undefined,
    body: html`<form class="stack" method="post" action="${view.action}">
${problemSummary(problem)}
${hiddenFields({ csrf: view.csrf })}
<ul class="choices">${view.choices.map(
      ({ value, tenantName, personName, userName }) => html`<li>
<button class="account" type="submit" name="choice" value="${value}">${person(tenantName, [personName, userName])}${chevronIcon}</button>
</li>`,
    )}</ul>
${cancelButton(view, context)}
</form>`,
  };
}
