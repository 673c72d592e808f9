/** The agent's window and the customer's phone. */
import type { IDToken, TokenEndpointResponse } from 'openid-client';
import { claimList } from '../views/claims.js';
import { type Html, html } from '../views/html.js';
import { layout } from '../views/layout.js';
import type { Phones } from './phones.js';

export interface Caller {
  readonly userName: string;
  readonly name: string;
  readonly tenant: { readonly id: string; readonly name: string };
}

export interface Call {
  readonly id: string;
  readonly caller: Caller;
  /** Number that the agent reads out, and that the customer's phone shows. */
  readonly number: string;
  state: 'waiting' | 'approved' | 'denied' | 'expired';
  tokens?: TokenEndpointResponse;
  claims?: IDToken;
}

const follow = html`<script type="module" src="/call-centre/follow.js"></script>`;
const phoneLink = html`<a class="button small" href="/phone" target="phone">The phones</a>`;

export const callsPage = (callers: readonly Caller[]): string =>
  layout({
    title: 'Call centre',
    corner: phoneLink,
    body: html`
<section class="panel" aria-labelledby="callers">
<div class="panel-head"><div><h1 id="callers">Who is on the line?</h1><p>They sign in on a device of their own; you never ask for a password.</p></div></div>
<form method="post" action="/call-centre" class="fields">
${callers.map(({ userName, name, tenant }) => html`<button class="button" name="userName" value="${userName}">Ask ${name} at ${tenant.name}</button>`)}
</form>
<p class="about">In another window, <a href="/phone" target="phone">a phone</a> shows what ${callers.map(({ name }) => name).join(' or ')} gets.</p>
</section>`,
  });

export const callPage = (call: Call): string =>
  layout({
    title: `Call with ${call.caller.name}`,
    corner: html`<a class="button small" href="/call-centre">Other calls</a>`,
    body: html`${outcome(call)}${follow}`,
  });

function outcome({ caller: { name }, number, state, claims, tokens }: Call): Html {
  switch (state) {
    case 'waiting':
      return html`
<section class="panel" aria-labelledby="call" data-awaits="approval">
<div class="panel-head"><div><h1 id="call">Waiting for ${name}</h1><p role="status">Say: “Your phone shows the number <b data-number>${number}</b>. Does it?”</p></div></div>
<p class="about"><a href="">Look again</a></p>
</section>`;
    case 'approved':
      return html`
<p class="notice" role="status">${name} approved: this is them.</p>
<div class="panels">
<section class="panel" id="id-token" aria-labelledby="id-token-title">
<div class="panel-head"><div><h2 id="id-token-title">ID token</h2><p>who approved, and how they signed in</p></div></div>${claimList(claims ?? {})}
</section>
<section class="panel" id="tokens" aria-labelledby="tokens-title">
<div class="panel-head"><div><h2 id="tokens-title">Tokens</h2><p>for what the agent does now</p></div></div>${claimList(excerptsOf(tokens))}
</section>
</div>`;
    case 'denied':
      return html`<p class="notice problem" role="status">${name} denied it, or a newer request took its place. No tokens came.</p>`;
    case 'expired':
      return html`<p class="notice problem" role="status">${name} did not answer in time. No tokens came.</p>`;
  }
}

/** Returns the start of each token: enough to see that the token exists, not enough to use the token. */
const excerptsOf = (tokens: TokenEndpointResponse | undefined): object =>
  Object.fromEntries(
    Object.entries(tokens ?? {})
      .filter(([, value]) => typeof value !== 'function')
      .map(([name, value]) => [name, /_token$/.test(name) ? `${String(value).slice(0, 4)}…` : value]),
  );

export const phonePage = (callers: readonly Caller[], phones: Phones): string =>
  layout({
    title: 'Phones',
    body: html`
<div class="panels" data-awaits="requests">
${callers.map(({ userName, name }) => phone(name, userName, phones))}
</div>${follow}`,
  });

const phone = (name: string, userName: string, phones: Phones): Html => html`
<section class="panel accounts" id="phone-${name}" aria-labelledby="${name}-title">
<div class="panel-head"><div><h1 id="${name}-title">${name}’s phone</h1><p>what <code>ciba.notify</code> was called with</p></div></div>
${phones.of(userName).length === 0 && html`<p class="about">Nothing new. <a href="">Look again</a></p>`}
<ul>
${phones
  .of(userName)
  .map(
    ({ url, clientName, bindingMessage }) =>
      html`<li><a href="${url}"><strong>${clientName} asks you to sign in</strong></a><span>${bindingMessage}</span></li>`,
  )}
</ul>
</section>`;
