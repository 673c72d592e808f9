/** Creating an account. */
import { html } from '../../../lib/http/html.js';
import type { PageView } from '../view-models.js';
import { field, problemSummary } from './form.js';
import { hiddenFields } from './hidden-fields.js';
import type { PageContent, PageContext } from './layout.js';

const fields = [
  { name: 'givenName', type: 'text', autocomplete: 'given-name' },
  { name: 'familyName', type: 'text', autocomplete: 'family-name' },
  { name: 'email', type: 'text', autocomplete: 'username', attributes: html` inputmode="email" autocapitalize="none" spellcheck="false"` },
  { name: 'password', type: 'password', autocomplete: 'new-password' },
] as const;

export function createView(view: PageView<'create'>, { text, frame }: PageContext): PageContent {
  const problem = problemText(view, text);
  const atFault = fields.find(({ name }) => view.problem?.startsWith(`${name}.`))?.name;
  const values: Record<string, string | undefined> = { givenName: view.givenName, familyName: view.familyName, email: view.email };
  return {
    title: text('create.title'),
    ...(frame.tenant && { lead: text('create.lead', { tenant: frame.tenant.name }) }),
    problem: problem !== undefined,
    body: html`<form class="stack" method="post" action="${view.action}" novalidate>
${problemSummary(problem, atFault)}
${hiddenFields({ csrf: view.csrf })}
${fields.map((one) =>
  field({
    ...one,
    label: text(one.name === 'password' ? 'password.label' : `create.${one.name}`),
    value: values[one.name],
    problem: one.name === atFault ? problem : undefined,
    autofocus: one.name === (atFault ?? (problem === undefined ? 'givenName' : undefined)),
  }),
)}
<p class="lead">${text('create.password', { length: String(view.passwordLength) })}</p>
<button class="button" type="submit">${text('create.submit')}</button>
<a class="text-link centred" href="${view.signIn}">${text('create.signIn')}</a>
</form>`,
  };
}

function problemText(view: PageView<'create'>, text: PageContext['text']): string | undefined {
  if (view.problem === undefined) return undefined;
  if (view.problem === 'attempts.exceeded') return text(view.problem, { duration: text.minutes(view.minutes) });
  if (view.problem === 'password.weak') return text(view.problem, { length: String(view.passwordLength) });
  return text(view.problem);
}
