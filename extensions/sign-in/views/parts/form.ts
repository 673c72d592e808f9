/** Parts of forms. */
import { type Html, html } from '../../../../lib/extension-door.js';
import { alertIcon } from './icons.js';
import { initials, type PageContext } from './layout.js';

/**
 * What is wrong, on top of the form; read out when the page opens. It links to the field at fault, which then has the
 * focus; without one the summary itself has it.
 */
export const problemSummary = (message: string | undefined, field?: string): Html | false =>
  message !== undefined &&
  html`<div class="alert" role="alert"${field === undefined && html` tabindex="-1" autofocus`}>${alertIcon}
<p>${field === undefined ? message : html`<a href="#${field}">${message}</a>`}</p></div>`;

/** Several fields at fault, each with a link to it; one is said as {@link problemSummary} says it. */
export function problemList(messages: ReadonlyMap<string | undefined, string>): Html | false {
  const [only, ...others] = [...messages];
  if (others.length === 0) return only !== undefined && problemSummary(only[1], only[0]);
  const items = [...messages].map(([name, message]) => html`<li><a href="#${name}">${message}</a></li>`);
  return html`<div class="alert" role="alert">${alertIcon}<ul>${items}</ul></div>`;
}

interface Field {
  readonly name: string;
  readonly label: string;
  readonly type: 'text' | 'password';
  readonly autocomplete: string;
  readonly value?: string | undefined;
  /** What is wrong with it. */
  readonly problem?: string | undefined;
  readonly isOptional?: boolean;
  readonly autofocus: boolean;
  /** Attributes of its own. */
  readonly attributes?: Html;
}

/** A labelled input with its problem beside it. */
export const field = ({ name, label, type, autocomplete, value, problem, isOptional = false, autofocus, attributes }: Field): Html =>
  html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}"${!isOptional && html` required`}${
    value !== undefined && html` value="${value}"`
  }${autofocus && html` autofocus`}${problem !== undefined && html` aria-invalid="true" aria-describedby="${name}-problem"`}${attributes}>
${problem !== undefined && html`<p class="field-problem" id="${name}-problem">${problem}</p>`}
</div>`;

/** Leaves the sign-in, without JavaScript and whatever is filled in. */
export const cancelButton = ({ cancel }: { readonly cancel?: string }, { text }: PageContext): Html | false =>
  cancel !== undefined &&
  html`<button class="text-link centred" type="submit" formaction="${cancel}" formnovalidate>${text('cancel')}</button>`;

/** A name that may be long and without spaces, such as an e-mail address: it breaks after its punctuation. */
const breakable = (name: string): Html =>
  html`<bdi>${name.split(/(?<=[@._+-])/).map((part, index) => (index === 0 ? part : html`<wbr>${part}`))}</bdi>`;

/** Who it is about: their initials and name, with lines below it. `monogram` names them when `name` is an address. */
export const person = (name: string, lines: readonly string[] = [], monogram = name): Html =>
  html`<span class="person"><span class="avatar" aria-hidden="true">${initials(monogram)}</span><span class="who"><strong>${breakable(
    name,
  )}</strong>${lines.map((line) => html`<span>${breakable(line)}</span>`)}</span></span>`;
