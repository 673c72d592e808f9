/** Page that creates an account. */
import { type Html, html } from '../../../lib/extension-door.js';
import type { PageView } from '../view-models.js';
import { cancelButton, field, problemList, problemSummary } from './parts/form.js';
import { hiddenFields } from './parts/hidden-fields.js';
import type { PageContent, PageContext } from './parts/layout.js';
import { withLink } from './parts/links.js';

const fields = [
  { name: 'givenName', type: 'text', autocomplete: 'given-name', isOptional: true },
  { name: 'familyName', type: 'text', autocomplete: 'family-name', isOptional: true },
  { name: 'email', type: 'text', autocomplete: 'username', attributes: html` inputmode="email" autocapitalize="none" spellcheck="false"` },
  { name: 'password', type: 'password', autocomplete: 'new-password', userName: { field: 'email' } },
] as const;

/** Returns what a new account accepts, with the links of the branding. */
function termsLine({ text, frame: { branding: { termsUri, privacyUri } = {} } }: PageContext): Html | false {
  const terms = termsUri !== undefined && withLink(text('create.terms', { link: '{link}' }), termsUri, text('consent.terms'));
  const privacy = privacyUri !== undefined && withLink(text('create.privacy', { link: '{link}' }), privacyUri, text('consent.policy'));
  return (terms || privacy) && html`<p class="lead">${terms} ${privacy}</p>`;
}

export function createView(view: PageView<'create'>, context: PageContext): PageContent {
  const { text } = context;
  const general =
    view.problem === 'attempts.exceeded'
      ? text(view.problem, { duration: text.minutes(view.minutes) })
      : view.problem && text(view.problem);
  const wrong = new Map(
    (view.problems ?? []).map((problem) => [problem.split('.', 1)[0], text(problem, { length: String(view.passwordLength) })]),
  );
  const [first] = wrong.keys();
  const isRefused = general !== undefined || wrong.size > 0;
  const values: Record<string, string | undefined> = { givenName: view.givenName, familyName: view.familyName, email: view.email };
  return {
    title: text('create.title'),
    problem: isRefused,
    hasPassword: true,
    body: html`<form class="stack" method="post" action="${view.action}" novalidate>
${problemSummary(general)}${problemList(wrong)}
${hiddenFields({ csrf: view.csrf })}
${fields.map((one) => {
  const isPassword = one.name === 'password';
  const label = text(isPassword ? 'password.label' : `create.${one.name}`);
  const hint = isPassword ? text('create.password', { length: String(view.passwordLength) }) : undefined;
  const state = { label, hint, problem: wrong.get(one.name), autofocus: one.name === (first ?? (isRefused ? undefined : 'givenName')) };
  return field(one.type === 'text' ? { ...one, ...state, value: values[one.name] } : { ...one, ...state }, context);
})}
${termsLine(context)}
<button class="button" type="submit">${text('create.submit')}</button>
<a class="text-link centred" href="${view.signIn}">${text('create.signIn')}</a>
${cancelButton(view, context)}
</form>`,
  };
}
