/** View of an extension with its texts in one language: plain data, like the other pages. */

import type { Locale, Text, View, ViewPart } from '../../lib/extension-door.js';
import { present } from '../../lib/extension-door.js';
import { filled } from './texts/filled.js';
import type { PageView } from './view-models.js';

/** Members of the form that the service adds: the CSRF token, and the address of the cancel button. */
interface Guard {
  readonly csrf?: string;
  readonly cancel?: string;
}

/** The texts of a language. */
export interface Language {
  readonly locale: Locale;
  readonly texts: Readonly<Record<string, string>>;
}

/** Returns a function that resolves texts in one language. @throws TypeError for an unknown text */
export const wordsIn =
  ({ locale, texts }: Language) =>
  (text: Text): string => {
    if (typeof text === 'object' && 'plain' in text) return text.plain;
    if (typeof text === 'object' && 'inLanguage' in text) return text.inLanguage(locale);
    const { key, values } = typeof text === 'string' ? { key: text, values: {} } : text;
    const template = texts[key];
    if (template === undefined) throw new TypeError(`No extension has the text ${key}. Add it to texts of the extension.`);
    const said = Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? value : value.inLanguage(locale)]);
    return filled(template, Object.fromEntries(said));
  };

/**
 * Resolves the texts of a view.
 * @param language of the page
 * @throws TypeError for an unknown text
 */
export function resolveView(view: View, language: Language, guard: Guard): PageView<'view'> {
  const { title, lead, problem, form, parts, script } = view;
  const words = wordsIn(language);
  // Markup in the script would end it early, and change its hash.
  if (script !== undefined && /<[/!]/.test(script))
    throw new TypeError('The script of a page contains markup. Write < before / or ! in another way.');
  checkPasswords(view);
  return {
    page: 'view',
    title: words(title),
    ...optional({ lead, problem }, words),
    ...present({ script }),
    ...(form && {
      form: {
        action: form.action,
        fields: { ...form.fields, ...present({ csrf: guard.csrf }) },
        ...present({ cancel: guard.cancel }),
      },
    }),
    parts: parts.map((part) => resolvePart(part, words)),
  } as PageView<'view'>;
}

/** Returns the parts of a view, with the parts inside of other parts. */
export const allParts = <Words>(parts: readonly ViewPart<Words>[]): readonly ViewPart<Words>[] =>
  parts.flatMap((part) => (part.part === 'details' ? [part, ...allParts(part.parts)] : [part]));

/** Returns the given texts in words, without the undefined texts. */
const optional = (texts: Readonly<Record<string, Text | undefined>>, words: (text: Text) => string): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(texts).flatMap(([name, text]) => (text === undefined ? [] : [[name, words(text)]])));

/** @throws TypeError for a password field without a user name under which a password manager could save the password. */
function checkPasswords({ form, parts }: View): void {
  const fields = allParts(parts).filter((part) => part.part === 'field');
  for (const part of fields) {
    if (part.kind !== 'password') continue;
    if (!form) throw new TypeError(`The view has the password ${part.name} and no form. Give the view a form.`);
    const { userName } = part;
    const isAsked = (name: string) => fields.some((one) => one.kind !== 'password' && one.name === name && one.autocomplete === 'username');
    if (typeof userName !== 'string' && !isAsked(userName.field))
      throw new TypeError(
        `No field ${userName.field} with autocomplete username asks for the user name of ${part.name}. Add the field to the view.`,
      );
  }
}

function resolvePart(part: ViewPart, words: (text: Text) => string): object {
  switch (part.part) {
    case 'text':
    case 'heading':
    case 'link':
      return { ...part, text: words(part.text) };
    case 'button':
      return { ...part, text: words(part.text), ...present({ lines: part.lines?.map(words) }) };
    case 'action':
      return { ...part, text: words(part.text), ...present({ lines: part.lines?.map(words) }), ...optional({ done: part.done }, words) };
    case 'details':
      return { ...part, title: words(part.title), line: words(part.line), parts: part.parts.map((inner) => resolvePart(inner, words)) };
    case 'list':
      return { ...part, items: part.items.map(words) };
    case 'qr':
    case 'copy':
    case 'quote':
    case 'scopes':
      return { ...part, label: words(part.label) };
    case 'field':
      return {
        ...part,
        label: words(part.label),
        ...optional({ hint: part.hint, problem: part.problem }, words),
        ...(part.kind === 'select' && { options: part.options.map((option) => ({ ...option, title: words(option.title) })) }),
      };
    case 'check':
      return { ...part, label: words(part.label) };
    case 'entries':
      return {
        ...part,
        entries: part.entries.map(({ title, badge, lines = [], action, ...rest }) => ({
          ...rest,
          title: words(title),
          ...optional({ badge }, words),
          lines: lines.map(words),
          ...(action && { action: { ...action, text: words(action.text), about: words(action.about) } }),
        })),
      };
    case 'links':
      return { ...part, links: part.links.map(({ title, lines = [], href }) => ({ title: words(title), lines: lines.map(words), href })) };
    case 'choices':
      return {
        ...part,
        choices: part.choices.map(({ title, lines = [], ...rest }) => ({ ...rest, title: words(title), lines: lines.map(words) })),
      };
    case 'facts':
      return { ...part, facts: part.facts.map(({ label, value, ...rest }) => ({ ...rest, label: words(label), value: words(value) })) };
    case 'markup':
      return part;
  }
}
