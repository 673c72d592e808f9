/** Results of a sign-in: ID token, userinfo, introspection and the token response, side by side. */
import type { IntrospectionResponse, UserInfoResponse } from 'openid-client';
import type { Problem } from '../problems.js';
import type { SignedIn } from '../sessions.js';
import { claimList, timeOf } from './claims.js';
import { type Html, html } from './html.js';
import { layout } from './layout.js';

export interface AccountOptions extends SignedIn {
  readonly userinfo: UserInfoResponse | Problem;
  readonly introspection: IntrospectionResponse | Problem;
  readonly tenants: readonly { readonly id: string; readonly name: string }[];
  /** Whether the user may impersonate other users. */
  readonly mayActAs: boolean;
  /** URL that ends an impersonation. */
  readonly endImpersonation: string;
}

export const accountPage = (options: AccountOptions): string => {
  const { claims, userinfo, introspection, tenants, mayActAs, endImpersonation } = options;
  const { name = claims.sub, company_name: company, picture } = userinfo as Record<string, string | undefined>;
  return layout({
    title: name,
    corner: html`<form method="post" action="/sign-out"><button class="button small">Sign out</button></form>`,
    body: html`
${
  'act' in claims &&
  html`<section class="acting" aria-labelledby="acting"><p id="acting"><strong>You act as ${name}.</strong> What you do here is on record.</p><a class="button small" href="${endImpersonation}">End</a></section>`
}
<section class="who">
<span class="avatar" aria-hidden="true">${/^\p{L}{1,3}$/u.test(picture ?? '') ? picture : name.slice(0, 1)}</span>
<div><h1>${name}</h1><p>${company !== undefined && html`Signed in to <strong>${company}</strong>`}</p></div>
<nav aria-label="Organisations">${tenants.map(({ id, name: tenant }) => switchTo(id, tenant, id === claims.tid))}${
      mayActAs && html`<a class="button small" href="/act-as">Sign in as somebody else</a>`
    }</nav>
</section>
<div class="panels">
${panel('id-token', 'ID token', options.refreshes === 0 ? 'from the sign-in' : 'from the last refresh', claimList(claims))}
${panel('userinfo', 'Userinfo', 'as it is now', claimList(userinfo))}
${panel('introspection', 'Introspection', 'of the access token, as it is now', claimList(introspection))}
${tokensPanel(options)}
${ordersPanel(options)}
</div>`,
  });
};

const switchTo = (id: string, name: string, isHere: boolean): Html =>
  isHere
    ? html`<span class="button small here" aria-current="true">${name}</span>`
    : html`<a class="button small" href="/sign-in?tenant=${id}">Sign in to ${name}</a>`;

const panel = (id: string, title: string, about: string, body: Html, action?: Html): Html => html`
<section class="panel" id="${id}" aria-labelledby="${id}-title">
<div class="panel-head"><div><h2 id="${id}-title">${title}</h2><p>${about}</p></div>${action}</div>
${body}
</section>`;

const button = (action: string, label: string): Html =>
  html`<form method="post" action="${action}"><button class="button small primary">${label}</button></form>`;

function tokensPanel({ tokens, receivedAt, refreshes }: AccountOptions): Html {
  const { access_token, refresh_token, id_token, ...others } = tokens;
  const shown = {
    access_token: excerptOf(access_token),
    ...(refresh_token ? { refresh_token: excerptOf(refresh_token) } : {}),
    ...(id_token ? { id_token: excerptOf(id_token) } : {}),
    ...others,
  };
  const times = refreshes === 0 ? 'Not refreshed yet' : `Refreshed ${refreshes === 1 ? 'once' : `${refreshes} times`}`;
  const about = html`<p class="about" data-refreshes="${refreshes}">${times}; the tokens are from ${timeOf(receivedAt)}. They stay on the server.</p>`;
  return panel(
    'tokens',
    'Refresh',
    'the token response',
    html`${about}${claimList(shown)}`,
    refresh_token ? button('/refresh', 'Refresh now') : undefined,
  );
}

/** Returns the start and the end of a token: enough to distinguish two tokens, not enough to use a token. */
const excerptOf = (token: string): string => `${token.slice(0, 4)}…${token.slice(-8)}`;

function ordersPanel({ orders }: AccountOptions): Html {
  const body = orders
    ? html`<p class="about">It asked the identity provider about the access token and answered ${orders.status}.</p><pre><code>${JSON.stringify(orders.body, undefined, 2)}</code></pre>`
    : html`<p class="about">A resource server that knows the caller's organisation by the access token.</p>`;
  return panel('orders', 'Orders API', 'GET /api/orders', body, button('/orders', 'Call it'));
}
