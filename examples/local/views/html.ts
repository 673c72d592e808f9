/** Templates that escape their values, except values that are templates themselves. */
export class Html {
  constructor(readonly markup: string) {}
}

type Child = Html | string | number | false | undefined | readonly Html[];

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function render(child: Child): string {
  if (child instanceof Html) return child.markup;
  if (child === false || child === undefined) return '';
  if (typeof child === 'object') return child.map(render).join('');
  return String(child).replace(/[&<>"']/g, (character) => entities[character] ?? '');
}

export const html = (parts: TemplateStringsArray, ...children: readonly Child[]): Html =>
  new Html(String.raw({ raw: parts }, ...children.map(render)));
