/** Page about a request that cannot be answered by a redirect. */
import { type Html, html } from '../../../lib/extension-door.js';
import type { DeveloperDetail, PageView } from '../view-models.js';
import { buttonLink, failure, wayBack } from './notice.js';
import type { PageContent, PageContext } from './parts/layout.js';

const developerPanel = ({ error, description, detail }: DeveloperDetail, { text }: PageContext): Html =>
  html`<details class="developer" open><summary>${text('error.developer')}</summary><dl>
<dt>error</dt><dd>${error}</dd>
${description !== undefined && html`<dt>error_description</dt><dd>${description}</dd>`}
${detail !== undefined && html`<dt>error_detail</dt><dd>${detail}</dd>`}
</dl></details>`;

export function errorView(view: PageView<'error'>, context: PageContext): PageContent {
  const { text } = context;
  const { title = text('error.title'), message = text('error.message'), code, restart, developer } = view;
  return failure({
    title,
    message,
    more: [
      code !== undefined && html`<p class="lead">${text('error.code')} <code>${code}</code></p>`,
      restart === undefined ? wayBack(context.frame.client?.uri, context) : buttonLink(restart, text('startAgain')),
      developer !== undefined && developerPanel(developer, context),
    ],
  });
}
