/** First page of a sign-in: asks for a name, or for another way to sign in. */
import { type Html, html, present } from '../../../lib/extension-door.js';
import type { PageView } from '../view-models.js';
import { cancelButton, field, problemSummary } from './parts/form.js';
import { hiddenFields } from './parts/hidden-fields.js';
import type { PageContent, PageContext } from './parts/layout.js';
import { problemText, signInTitle } from './parts/sign-in-words.js';

export function identifierView(view: PageView<'identifier'>, context: PageContext): PageContent {
  const { text } = context;
  const problem = problemText(view, context);
  const atFault = view.problem === 'identifier.missing';
  const script = identifierScript(view);
  return {
    title: signInTitle(context),
    problem: problem !== undefined,
    ...present({ script }),
    body: html`<form class="stack" method="post" action="${view.action}" novalidate>
${problemSummary(atFault ? undefined : problem)}
${view.outside !== undefined && html`<p>${text('identifier.outside', { userName: view.outside.userName, tenant: view.outside.tenantName })}</p>`}
${hiddenFields({ csrf: view.csrf })}
${
  !view.isElsewhere &&
  html`${field(
    {
      name: 'identifier',
      label: text('identifier.label'),
      type: 'text',
      autocomplete: 'username',
      value: view.identifier,
      problem: atFault ? problem : undefined,
      autofocus: atFault || problem === undefined,
      attributes: html` inputmode="email" autocapitalize="none" autocorrect="off" spellcheck="false" enterkeyhint="next" dir="auto"`,
    },
    context,
  )}
<button class="button" type="submit">${text('identifier.submit')}</button>`
}
${otherWays(view, context)}
${view.create !== undefined && html`<a class="text-link centred" href="${view.create}">${text('create.submit')}</a>`}
${cancelButton(view, context)}
</form>`,
  };
}

/** Returns the scripts of the buttons, each in its own scope. */
function identifierScript({ others }: PageView<'identifier'>): string | undefined {
  const sources = new Set(others?.buttons.flatMap(({ script }) => script?.source ?? []));
  return sources.size === 0 ? undefined : [...sources].map((source) => `{${source}}`).join('\n');
}

/** Returns the buttons of other ways to sign in. The buttons have an outline, so that the page has one filled button, except for the only way. */
function otherWays({ others, isElsewhere }: PageView<'identifier'>, { text, frame }: PageContext): Html | false {
  if (others === undefined) return false;
  const isOnly = isElsewhere === true && others.buttons.length === 1;
  return html`${!isElsewhere && html`<p class="or"${others.buttons.every(({ script }) => script) && html` hidden`}>${text('signIn.or')}</p>`}
${others.buttons.map(
  ({ idp, label, script }) =>
    html`<button class="button${!isOnly && html` quiet`}" type="submit"${
      script !== undefined && html` hidden data-action="${idp}" data-value="${script.value}"`
    } formaction="${others.action}" formnovalidate name="idp" value="${idp}">${label[frame.locale]}</button>`,
)}`;
}
