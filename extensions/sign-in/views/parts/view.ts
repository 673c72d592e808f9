/** Page of an extension. */
import { type Html, html, present } from '../../../../lib/extension-door.js';
import { allParts } from '../../extension-view.js';
import type { PageView, PartModel } from '../../view-models.js';
import { cancelButton, field, item, person, problemList, problemSummary, selectField } from './form.js';
import { hiddenFields } from './hidden-fields.js';
import { chevronIcon } from './icons.js';
import type { PageContent, PageContext } from './layout.js';
import { qrCode } from './qr-code.js';
import { scopeList } from './scope-list.js';

export function extensionView({ title, lead, problem, form, parts, script }: PageView<'view'>, context: PageContext): PageContent {
  const fields = allParts(parts).filter((part) => part.part === 'field');
  const wrong = new Map(fields.flatMap((part) => (part.problem === undefined ? [] : [[part.name, part.problem]])));
  // The first invalid field has the focus. Without an invalid field, the first field has the focus.
  const [atFault] = wrong.keys();
  const focused = problem === undefined ? (atFault ?? fields[0]?.name) : undefined;
  const rendered = parts.map((part) => renderPart(part, { focused, all: fields }, context));
  const inner = html`${problemSummary(problem)}${problem === undefined && problemList(wrong)}
${rendered}`;
  return {
    title,
    ...present({ lead }),
    problem: problem !== undefined || wrong.size > 0,
    hasPassword: fields.some(({ kind }) => kind === 'password'),
    ...present({ script }),
    body: form
      ? html`<form class="stack" method="post" action="${form.action}" novalidate>
${hiddenFields(form.fields)}
${inner}
${cancelButton(form, context)}
</form>`
      : html`<div class="stack">${inner}</div>`,
  };
}

const attributes = {
  text: html``,
  code: html` inputmode="numeric" autocapitalize="none" spellcheck="false"`,
} as const;

type FieldModel = Extract<PartModel, { readonly part: 'field' }>;

interface Place {
  /** Name of the field with the focus. */
  readonly focused: string | undefined;
  /** All fields of the view, in their order. */
  readonly all: readonly FieldModel[];
}

function renderField(part: FieldModel, { focused, all }: Place, context: PageContext): Html {
  const { name, label, hint, problem, isOptional = false } = part;
  const common = { name, label, hint, problem, isOptional, autofocus: name === focused };
  if (part.kind === 'password') {
    const { autocomplete, userName } = part;
    // The form has one input for a user name, because Chromium takes a second input for the start of another form.
    const above = all.slice(0, all.indexOf(part)).find((other) => other.kind === 'password' && other.userName === userName);
    const named = typeof userName === 'string' ? { value: userName } : userName;
    return field({ ...common, type: 'password', autocomplete, userName: above ? { field: above.name } : named }, context);
  }
  if (part.kind === 'select') {
    const { autocomplete = 'off', value, options } = part;
    return selectField({ ...common, autocomplete, value, options }, context);
  }
  const { kind = 'text', value, autocomplete = kind === 'code' ? 'one-time-code' : 'off' } = part;
  return field({ ...common, type: 'text', autocomplete, value, attributes: attributes[kind] }, context);
}

/** Returns whether a checkbox is ticked: as the user left it, if the form is shown again because a field is too long. */
const isTicked = (
  { name, isTicked: given = false }: Extract<PartModel, { readonly part: 'check' }>,
  { frame: { tooLong } }: PageContext,
): boolean => (tooLong ? tooLong.typed(name) === 'yes' : given);

/** Returns the classes and the content of a button: of an entry with lines, or of a plain button. */
const lookOf = ({ lines, look }: { readonly lines?: readonly string[]; readonly look?: string }): string =>
  lines ? 'account' : `button${look === undefined || look === 'filled' ? '' : ` ${look}`}`;
const contentOf = ({ text, lines }: { readonly text: string; readonly lines?: readonly string[] }): Html =>
  lines ? html`${item(text, lines)}${chevronIcon}` : html`${text}`;

function renderPart(part: PartModel, place: Place, context: PageContext): Html {
  switch (part.part) {
    case 'field':
      return renderField(part, place, context);
    case 'text':
      return part.isForNoScript ? html`<noscript><p>${part.text}</p></noscript>` : html`<p>${part.text}</p>`;
    case 'heading':
      return html`<h2>${part.text}</h2>`;
    case 'list':
      return html`<ul class="points">${part.items.map((item) => html`<li>${item}</li>`)}</ul>`;
    case 'link':
      return html`<a class="${part.look === undefined ? 'text-link centred' : lookOf(part)}" href="${part.href}">${part.text}</a>`;
    case 'check':
      return html`<label class="check"><input type="checkbox" name="${part.name}" value="yes"${isTicked(part, context) && html` checked`}><span>${part.label}</span></label>`;
    case 'entries':
      return html`<ul class="choices">${part.entries.map(
        ({ title, badge, lines, isPerson, action }) =>
          html`<li class="account entry">${(isPerson ? person : item)(title, lines, badge)}${
            action &&
            html`<button class="text-link" type="submit" name="${action.name}" value="${action.value}" aria-label="${action.text}: ${action.about}">${action.text}</button>`
          }</li>`,
      )}</ul>`;
    case 'links':
      return html`<ul class="choices">${part.links.map(
        ({ title, lines, href }) => html`<li><a class="account" href="${href}">${item(title, lines)}${chevronIcon}</a></li>`,
      )}</ul>`;
    case 'choices':
      return html`<ul class="choices">${part.choices.map(
        ({ value, title, lines, isPerson }) =>
          html`<li><button class="account" type="submit" name="${part.name}" value="${value}">${(isPerson ? person : item)(title, lines)}${chevronIcon}</button></li>`,
      )}</ul>`;
    case 'button':
      return html`<button class="${lookOf(part)}" type="submit"${part.name !== undefined && html` name="${part.name}" value="${part.value ?? ''}"`}>${contentOf(part)}</button>`;
    case 'details':
      return html`<details class="choice"${part.isOpen && html` open`}><summary class="account">${item(part.title, [part.line])}${chevronIcon}</summary>
<div class="stack">${part.parts.map((inner) => renderPart(inner, place, context))}</div></details>`;
    case 'qr':
      return qrCode(part.content, part.label);
    case 'copy':
      return html`<div class="copy"><p id="${part.name}-label">${part.label}</p><ul id="${part.name}" aria-labelledby="${part.name}-label">${part.lines.map(
        (line) => html`<li><code>${line}</code></li>`,
      )}</ul></div>`;
    case 'action':
      return html`<button class="${lookOf(part)}" type="button" hidden data-action="${part.action}"${
        part.value !== undefined && html` data-value="${part.value}"`
      }${part.done !== undefined && html` data-done="${part.done}"`}>${contentOf(part)}</button>`;
    case 'facts':
      return html`<dl class="facts">${part.facts.map(
        ({ label, value, seconds }) =>
          html`<div><dt>${label}</dt><dd><bdi${seconds !== undefined && html` data-seconds="${String(seconds)}"`}>${value}</bdi></dd></div>`,
      )}</dl>`;
    case 'quote':
      return html`<figure class="quote${part.isCode && html` code`}"><figcaption>${part.label}</figcaption><blockquote>${part.quote}</blockquote></figure>`;
    case 'scopes':
      return scopeList(part.label, part.scopes, context);
    case 'markup':
      return part.markup;
  }
}
