/** List of the scopes that an application requests, in words, with the user's data behind them. Nothing is ticked, because nothing is allowed yet. */
import { type Html, html } from '../../../../lib/extension-door.js';
import { isScopeText } from '../../texts/index.js';
import type { ConsentScope } from '../../view-models.js';
import type { PageContext } from './layout.js';

/**
 * Returns the text of a scope: the page's own text, else the text of its declaration. The declaration's text is in the page's language, else in English,
 * else in any other language.
 */
function scopeText({ name, description, api }: ConsentScope, { text, frame }: PageContext): string {
  const key = `scope.${name}`;
  if (isScopeText(key)) return text(key);
  if (typeof description === 'string') return description;
  const said = description?.[frame.locale] ?? description?.en ?? Object.values(description ?? {})[0];
  return said ?? (api === undefined ? name : text('consent.api', { api, scope: name }));
}

export const scopeList = (label: string, scopes: readonly ConsentScope[], context: PageContext): Html => html`<div>
<h2>${label}</h2>
<ul class="scopes">${scopes.map(
  (scope) =>
    html`<li><p>${scopeText(scope, context)}</p>${scope.data && html`<p class="data"><bdi>${scope.data.join(', ')}</bdi></p>`}</li>`,
)}</ul>
</div>`;
