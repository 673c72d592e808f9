/** Parts of forms. */
import { type Html, html } from '../../../../lib/extension-door.js';
import { alertIcon } from './icons.js';
import { initials, type PageContext } from './layout.js';
import { revealButton } from './reveal.js';

/**
 * Returns a problem that belongs to no field. Screen readers read the problem when the page opens, and the problem has the focus. The problem of one field
 * is next to the field, and the field has the focus, so that screen readers read the problem once.
 */
export const problemSummary = (message: string | undefined): Html | false =>
  message !== undefined && html`<div class="alert" role="alert" tabindex="-1" autofocus>${alertIcon}<p>${message}</p></div>`;

/** Returns a list of links to several invalid fields. */
export function problemList(messages: ReadonlyMap<string | undefined, string>): Html | false {
  if (messages.size < 2) return false;
  const items = [...messages].map(([name, message]) => html`<li><a href="#${name}">${message}</a></li>`);
  return html`<div class="alert" role="alert">${alertIcon}<ul>${items}</ul></div>`;
}

/**
 * User name under which password managers save the password: a field of the form, or a value, which is posted if it has a `name`.
 * @see https://www.chromium.org/developers/design-documents/create-amazing-password-forms
 */
type UserName = { readonly field: string } | { readonly value: string; readonly name?: string };

interface CommonField {
  readonly name: string;
  readonly label: string;
  /** Purpose or rule of the field, shown between the label and the input. */
  readonly hint?: string | undefined;
  /** Problem of the field. */
  readonly problem?: string | undefined;
  readonly isOptional?: boolean;
  readonly autofocus: boolean;
  /** Further attributes of the input. */
  readonly attributes?: Html;
}

type Field = CommonField &
  (
    | { readonly type: 'text'; readonly autocomplete: string; readonly value?: string | undefined }
    | { readonly type: 'password'; readonly autocomplete: 'current-password' | 'new-password'; readonly userName: UserName }
  );

/** Returns the input of the user name. The input is clipped instead of `hidden`, because some password managers skip inputs that are not displayed. */
const userNameInput = ({ value, name }: Extract<UserName, { value: string }>): Html =>
  html`<input class="off-screen" type="text"${name !== undefined && html` name="${name}"`} value="${value}" autocomplete="username" readonly tabindex="-1" aria-hidden="true">
`;

/** Returns the attributes by which screen readers read the hint and the problem with their field. */
function describedBy({ name, hint, problem }: Pick<CommonField, 'name' | 'hint' | 'problem'>): Html {
  const described = [hint !== undefined && `${name}-hint`, problem !== undefined && `${name}-problem`].filter(Boolean).join(' ');
  return html`${problem !== undefined && html` aria-invalid="true"`}${described !== '' && html` aria-describedby="${described}"`}`;
}
const hintOf = (name: string, hint: string | undefined): Html | false =>
  hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`;
const problemOf = (name: string, problem: string | undefined): Html | false =>
  problem !== undefined && html`<p class="field-problem" id="${name}-problem">${problem}</p>`;

/** Returns the text about a field that is too long; undefined for a page that is not shown for such a field. */
export function tooLongText({ text, frame: { tooLong, locale } }: PageContext): string | undefined {
  return tooLong && text('field.tooLong', { characters: new Intl.NumberFormat(locale).format(tooLong.longest) });
}

/** Returns a field as it is shown. A form with a field that is too long is shown again as the user filled it in, with the problem at the field. */
function filledIn<Of extends CommonField & { readonly value?: string | undefined }>(of: Of, context: PageContext): Of {
  const { tooLong } = context.frame;
  if (!tooLong) return of;
  const { name } = of;
  const isTooLong = name === tooLong.name;
  const value = tooLong.typed(name) ?? of.value;
  return { ...of, ...(value !== undefined && { value }), problem: isTooLong ? tooLongText(context) : undefined, autofocus: isTooLong };
}

/** Returns a labelled input with its problem. The input of a user name comes before a password. Scripts add a button that shows the password. */
export function field(given: Field, context: PageContext): Html {
  const of = filledIn(given, context);
  const { name, label, hint, type, autocomplete, problem, isOptional = false, autofocus, attributes } = of;
  const value = of.type === 'text' ? of.value : undefined;
  const input = html`<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}"${!isOptional && html` required`}${
    value !== undefined && html` value="${value}"`
  }${autofocus && html` autofocus`}${describedBy(of)}${attributes}>`;
  return html`${of.type === 'password' && 'value' in of.userName && userNameInput(of.userName)}<div class="field">
<label for="${name}">${label}</label>
${hintOf(name, hint)}
${type === 'password' ? html`<div class="secret">${input}${revealButton(name, context.text('password.reveal'))}</div>` : input}
${problemOf(name, problem)}
</div>`;
}

type Select = CommonField & {
  readonly autocomplete: string;
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly title: string; readonly lang?: string }[];
};

/** Returns a labelled list from which the user selects one entry, with its problem. */
export function selectField(given: Select, context: PageContext): Html {
  const of = filledIn(given, context);
  const { name, label, hint, autocomplete, value: selected, options, problem, autofocus } = of;
  const entries = options.map(
    ({ value, title, lang }) =>
      html`<option value="${value}"${lang !== undefined && html` lang="${lang}"`}${value === selected && html` selected`}>${title}</option>`,
  );
  return html`<div class="field">
<label for="${name}">${label}</label>
${hintOf(name, hint)}
<select id="${name}" name="${name}" autocomplete="${autocomplete}"${autofocus && html` autofocus`}${describedBy(of)}>${entries}</select>
${problemOf(name, problem)}
</div>`;
}

/** Returns the button that cancels the sign-in, without JavaScript and with incomplete fields. */
export const cancelButton = ({ cancel }: { readonly cancel?: string }, { text }: PageContext): Html | false =>
  cancel !== undefined &&
  html`<button class="text-link centred" type="submit" formaction="${cancel}" formnovalidate>${text('cancel')}</button>`;

/** Returns a name that may be long and without spaces, such as an e-mail address. The name breaks after punctuation, but a time such as 11.57 does not. */
const breakable = (name: string): Html =>
  html`<bdi>${name.split(/(?<=[@._+-])(?=\S{4})/).map((part, index) => (index === 0 ? part : html`<wbr>${part}`))}</bdi>`;

/** Returns a name with lines below it, without lines that repeat a line above. */
const entry = (name: string, lines: readonly string[] = [], badge?: string): Html =>
  html`<span class="who"><strong>${breakable(name)}</strong>${badge !== undefined && html`<span class="badge">${badge}</span>`}${[...new Set(lines)].filter((line) => line !== name).map((line) => html`<span>${breakable(line)}</span>`)}</span>`;

/** Returns an entry that is no person, such as an organisation or an application: it has no initials. */
export const item = (name: string, lines: readonly string[] = [], badge?: string): Html =>
  html`<span class="person">${entry(name, lines, badge)}</span>`;

/** Returns an account: initials before the name. The initials of an address come from the part before the `@`. */
export const person = (name: string, lines: readonly string[] = [], badge?: string): Html =>
  html`<span class="person"><span class="avatar" aria-hidden="true">${initials(name.split('@', 1)[0] || name)}</span>${entry(name, lines, badge)}</span>`;
