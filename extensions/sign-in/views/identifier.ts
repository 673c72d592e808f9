/** Who signs in. */
import { html } from '../../../lib/extension-door.js';
import type { PageView } from '../view-models.js';
import { cancelButton, field, problemSummary } from './form.js';
import { hiddenFields } from './hidden-fields.js';
import type { PageContent, PageContext } from './layout.js';
import { problemText, signInTitle } from './sign-in-words.js';

export function identifierView(view: PageView<'identifier'>, context: PageContext): PageContent {
  const { text } = context;
  const problem = problemText(view, context);
  const atFault = view.problem === 'identifier.missing';
  return {
    title: signInTitle(context),
    problem: problem !== undefined,
    body: html`<form class="stack" method="post" action="${view.action}" novalidate>
${problemSummary(problem, atFault ? 'identifier' : undefined)}
${hiddenFields({ csrf: view.csrf })}
${field({
  name: 'identifier',
  label: text('identifier.label'),
  type: 'text',
  autocomplete: 'username',
  value: view.identifier,
  problem: atFault ? problem : undefined,
  autofocus: atFault || problem === undefined,
  attributes: html` inputmode="email" autocapitalize="none" autocorrect="off" spellcheck="false" enterkeyhint="next" dir="auto"`,
})}
<button class="button" type="submit">${text('identifier.submit')}</button>
${cancelButton(view, context)}
</form>`,
  };
}
