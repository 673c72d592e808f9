/**
 * Pages: markup, the headers that protect the markup, and the page at the issuer's root.
 *
 * Templates of markup. The values of a template are escaped unless they are results of a template themselves.
 */
import { canParseUrl } from '../../text/can-parse-url.js';

/** Markup that is safe without escaping: the result of a template, or a constant of the service. */
export class Html {
  constructor(readonly markup: string) {}

  toString(): string {
    return this.markup;
  }
}

export type Child = Html | string | number | false | null | undefined | readonly Child[];

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escapeMarkup = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? '');

function render(child: Child): string {
  if (child instanceof Html) return child.markup;
  if (child === false || child === null || child === undefined) return '';
  if (typeof child === 'object') return child.map(render).join('');
  return escapeMarkup(String(child));
}

const ownOrigin = 'http://own.invalid';

/**
 * Returns a URL that is safe to follow: an absolute http(s) URL without credentials, or a path, query or fragment of this origin. For any other text
 * (`javascript:`, `data:`, `//host`, `/\host`, white space that browsers drop …), returns `#`.
 */
export function safeUrl(value: string): string {
  const own = /^[/?#]/.test(value);
  if (!own && !/^https?:\/\//i.test(value)) return '#';
  if (!canParseUrl(value, ownOrigin)) return '#';
  const url = new URL(value, ownOrigin);
  if (url.username !== '' || url.password !== '') return '#';
  if (!own) return value;
  return url.origin === ownOrigin ? value : '#';
}

const opensUrlAttribute = /\s(?:href|src|action|formaction)=["']$/i;

/**
 * Returns markup: a template tag. The tag escapes every value for text and for quoted attributes. A value that fills `href`, `src`, `action` or
 * `formaction` passes `safeUrl` first. Arrays render their elements; `false`, `null` and `undefined` render nothing. Never put values in unquoted
 * attributes, or in the bodies of script and style elements.
 * @example
 * ```ts
 * import { html } from 'tenant-idp/extension';
 *
 * const names = ['Alice', '<b>Bob</b>'];
 * console.log(String(html`<ul>${names.map((name) => html`<li>${name}</li>`)}</ul>`)); // <ul><li>Alice</li><li>&lt;b&gt;Bob&lt;/b&gt;</li></ul>
 * ```
 */
export function html(parts: TemplateStringsArray, ...children: readonly Child[]): Html {
  let markup = parts[0] ?? '';
  children.forEach((child, index) => {
    const inUrl = opensUrlAttribute.test(parts[index] ?? '');
    markup += inUrl ? escapeMarkup(safeUrl(String(child ?? ''))) : render(child);
    markup += parts[index + 1] ?? '';
  });
  return new Html(markup);
}
