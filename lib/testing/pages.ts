/** Pages of the service, as a client without JavaScript reads them. */

/** A page with the URL that it was read from. */
export interface ReadPage {
  readonly url: string;
  readonly body: string;
}

const unescapeMarkup = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#39);/g, (_, entity: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" })[entity] as string);

const textOf = (markup: string): string =>
  unescapeMarkup(
    markup
      .replace(/<svg\b[\s\S]*?<\/svg>/g, '')
      // A span is a part of a line, and the words of its line stay together.
      .replace(/<\/?span\b[^>]*>/g, '')
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  );

/** Returns the heading of a page; the empty text without a heading. */
export const titleOf = ({ body }: Pick<ReadPage, 'body'>): string => textOf(/<h1\b[^>]*>([\s\S]*?)<\/h1>/.exec(body)?.[1] ?? '');

/** Returns the problems that a page shows, of the whole form and of fields. */
export const problemsOf = ({ body }: Pick<ReadPage, 'body'>): readonly string[] =>
  [...body.matchAll(/<(div class="alert"|p class="field-problem")[^>]*>([\s\S]*?)<\/(?:div|p)>/g)].map(([, , markup = '']) =>
    textOf(markup),
  );

/**
 * Returns the URL and the inputs of the first form of a page.
 * @throws Error with the heading of a page that has no form
 */
export function formOf({ body, url }: ReadPage): { action: string; fields: Record<string, string> } {
  const form = /<form\b[^>]*>[\s\S]*?<\/form>/.exec(body)?.[0];
  if (!form) throw new Error(`no form on ${url}: ${titleOf({ body }) || body.slice(0, 200) || 'an empty page'}`);
  const attribute = (tag: string, name: string) => {
    const value = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];
    return value === undefined ? undefined : unescapeMarkup(value);
  };
  const fields: Record<string, string> = {};
  for (const [tag] of form.matchAll(/<input\b[^>]*>/g)) {
    const name = attribute(tag, 'name');
    if (name !== undefined) fields[name] = attribute(tag, 'value') ?? '';
  }
  for (const [list] of form.matchAll(/<select\b[^>]*>[\s\S]*?<\/select>/g)) {
    const options = [...list.matchAll(/<option\b[^>]*>/g)].map(([tag]) => tag);
    const chosen = options.find((tag) => /\sselected\b/.test(tag)) ?? options[0];
    const name = attribute(list, 'name');
    if (name !== undefined && chosen !== undefined) fields[name] = attribute(chosen, 'value') ?? '';
  }
  return { action: new URL(attribute(form, 'action') ?? url, url).href, fields };
}
