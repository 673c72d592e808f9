/** Consent: what an application may know and do, with which data, and where the user withdraws the consent. */
import { type Html, html } from '../../../lib/extension-door.js';
import type { PageView } from '../view-models.js';
import { person } from './parts/form.js';
import { hiddenFields } from './parts/hidden-fields.js';
import type { PageContent, PageContext } from './parts/layout.js';
import { outsideLink, withLink } from './parts/links.js';
import { scopeList } from './parts/scope-list.js';

/** Returns what the application says about itself. The links open in a new window, so that the question stays. */
function aboutClient({ text, frame: { client } }: PageContext): Html | false {
  if (!client) return false;
  const { name, uri, policyUri, termsUri } = client;
  const links = [
    [uri, text('consent.client', { client: name })],
    [policyUri, text('consent.policy')],
    [termsUri, text('consent.terms')],
  ].filter((link): link is [string, string] => link[0] !== undefined);
  return links.length > 0 && html`<ul class="links">${links.map(([href, label]) => html`<li>${outsideLink(href, label)}</li>`)}</ul>`;
}

export function consentView(view: PageView<'consent'>, context: PageContext): PageContent {
  const { text, frame } = context;
  const { client } = frame;
  return {
    title: client ? text('consent.title', { client: client.name }) : text('consent.title.plain'),
    problem: false,
    body: html`<form class="stack" method="post" action="${view.action}">
${hiddenFields({ csrf: view.csrf })}
<div class="account">${person(view.personName, [view.userName, view.tenantName])}
${view.other !== undefined && html`<a class="text-link" href="${view.other}">${text('password.restart')}</a>`}</div>
${scopeList(text(view.isMore ? 'consent.more' : 'consent.lead'), view.scopes, context)}
<p class="lead">${
      view.withdraw === undefined
        ? text('consent.withdraw', { link: text('consent.account') })
        : withLink(text('consent.withdraw', { link: '{link}' }), view.withdraw, text('consent.account'))
    }</p>
<div class="pair">
<button class="button" type="submit" name="decision" value="allow">${text('consent.allow')}</button>
<button class="button quiet" type="submit" name="decision" value="deny">${text('cancel')}</button>
</div>
${aboutClient(context)}
</form>`,
  };
}
