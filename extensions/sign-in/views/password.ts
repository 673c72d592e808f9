/** Page for the password of the named account. */
import { html } from '../../../lib/extension-door.js';
import type { PageView } from '../view-models.js';
import { cancelButton, field, person, problemSummary } from './parts/form.js';
import { hiddenFields } from './parts/hidden-fields.js';
import type { PageContent, PageContext } from './parts/layout.js';
import { problemText, signInTitle } from './parts/sign-in-words.js';

export function passwordView(view: PageView<'password'>, context: PageContext): PageContent {
  const { text, frame } = context;
  const additions = (frame.additions ?? []).filter(({ place }) => place === 'password');
  const problem = problemText(view, context);
  const atFault = view.problem === 'password.missing' || view.problem === 'credentials.mismatch';
  return {
    title: signInTitle(context),
    problem: problem !== undefined,
    hasPassword: true,
    body: html`<form class="stack" method="post" action="${view.action}" novalidate>
${problemSummary(atFault ? undefined : problem)}
${hiddenFields({ csrf: view.csrf })}
<div class="account">${person(view.identifier)}
<a class="text-link" href="${view.restart}">${text('password.restart')}</a></div>
${field(
  {
    name: 'password',
    label: text('password.label'),
    type: 'password',
    autocomplete: 'current-password',
    userName: { name: 'identifier', value: view.identifier },
    problem: atFault ? problem : undefined,
    autofocus: atFault || problem === undefined,
    attributes: html` enterkeyhint="go"`,
  },
  context,
)}
${
  view.organisation !== undefined &&
  field(
    {
      name: 'organisation',
      label: text('password.organisation'),
      hint: text('password.organisation.hint'),
      type: 'text',
      autocomplete: 'organization',
      value: view.organisation,
      isOptional: true,
      autofocus: false,
    },
    context,
  )
}
<button class="button" type="submit">${text('password.submit')}</button>
${additions.map(({ name, text: words }) => html`<button class="text-link centred" type="submit" form="addition-${name}">${words}</button>`)}
${cancelButton(view, context)}
</form>
${additions.map(
  ({ name, href }) =>
    html`<form id="addition-${name}" method="post" action="${href}">${hiddenFields({
      csrf: view.csrf,
      identifier: view.identifier,
      ...(view.organisation !== undefined && { organisation: view.organisation }),
    })}</form>`,
)}`,
  };
}
