import { accounts } from '../seed.js';
import { html } from './html.js';
import { layout } from './layout.js';

export interface HomeOptions {
  readonly tenants: readonly { readonly id: string; readonly name: string }[];
  readonly signedOut?: boolean;
}

export const homePage = ({ tenants, signedOut = false }: HomeOptions): string =>
  layout({
    title: signedOut ? 'Signed out' : 'Welcome',
    body: html`
<div class="home">
<section class="hero">
${signedOut && html`<p class="notice" role="status">You are signed out.</p>`}
<h1>See what a sign-in gives an application</h1>
<p class="lead">You sign in at the identity provider, and this page shows the tokens and claims it hands over: who you are, and in which organisation.</p>
<a class="button primary" href="/sign-in">Sign in</a>
<div class="pair">
${tenants.map(({ id, name }) => html`<a class="button" href="/sign-in?tenant=${id}">Sign in to ${name}</a>`)}
</div>
</section>
<section class="panel accounts" aria-labelledby="accounts">
<div class="panel-head"><h2 id="accounts">Accounts to try</h2></div>
<ul>
${accounts.map(
  ({ userName, password, who }) =>
    html`<li><strong>${userName}</strong><span>${who}</span><span>${password === undefined ? 'No password here' : html`Password <code>${password}</code>`}</span></li>`,
)}
</ul>
<p class="more">Without a server: <a href="/spa">the same sign-in in the browser alone</a>, as a public client.</p>
<p class="more">For the operator: <a href="/back-office">the back office</a>, and <a href="/mail">the mail</a> that is sent.</p>
<p class="more">On another device: <a href="/call-centre">the call centre</a> asks, and <a href="/phone">a phone</a> shows it.</p>
</section>
</div>`,
  });
