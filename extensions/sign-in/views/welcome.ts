/** Page for developers who have just started the service. Never shown in production. */
import { html } from '../../../lib/extension-door.js';
import type { PageView } from '../view-models.js';
import type { PageContent, PageContext } from './parts/layout.js';

export const welcomeView = ({ issuer, discovery, clients }: PageView<'welcome'>, { text }: PageContext): PageContent => ({
  title: text('welcome.title'),
  lead: text('welcome.lead'),
  problem: false,
  body: html`<div class="stack">
<p><code>${issuer}</code><br><a class="text-link" href="${discovery}">${text('welcome.discovery')}</a></p>
<div>
<h2>${text('welcome.clients')}</h2>
${
  clients.length === 0
    ? html`<p>${text('welcome.none')}</p>`
    : html`<ul class="scopes">${clients.map(
        ({ id, name, signIn }) =>
          html`<li><p>${name}</p><p class="data"><code>${id}</code></p>${
            signIn !== undefined && html`<a class="text-link" href="${signIn}">${text('welcome.signIn', { client: name })}</a>`
          }</li>`,
      )}</ul>`
}
</div>
</div>`,
});
