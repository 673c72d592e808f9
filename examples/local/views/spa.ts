import { html } from './html.js';
import { layout } from './layout.js';

export interface SpaOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scope: string;
}

/** Returns the page of the public client. The script of the page does everything. */
export const spaPage = ({ issuer, clientId, redirectUri, scope }: SpaOptions): string =>
  layout({
    title: 'In the browser',
    corner: html`<button class="button small" id="sign-out" hidden>Sign out</button>`,
    body: html`
<div id="app" data-issuer="${issuer}" data-client-id="${clientId}" data-redirect-uri="${redirectUri}" data-scope="${scope}">
<section class="hero narrow" id="start">
<h1>Sign in without a server</h1>
<p class="lead">A public client: this page keeps no secret. It redeems the code itself, proves with PKCE that it asked for it, and forgets the tokens when it is closed.</p>
<noscript><p class="notice">This page needs JavaScript; <a href="/">the other one</a> does without.</p></noscript>
<p class="notice problem" id="problem" role="alert" hidden></p>
<button class="button primary" id="sign-in">Sign in</button>
<p class="more"><a href="/">Back to the start page</a></p>
</section>
<div id="account" hidden>
<section class="who"><div><h1 id="name"></h1><p>Signed in to <strong id="company"></strong>; the tokens are in this page's memory alone.</p></div></section>
<div class="panels">
<section class="panel" id="id-token" aria-labelledby="id-token-title"><div class="panel-head"><h2 id="id-token-title">ID token</h2></div><dl class="claims"></dl></section>
<section class="panel" id="userinfo" aria-labelledby="userinfo-title"><div class="panel-head"><h2 id="userinfo-title">Userinfo</h2></div><dl class="claims"></dl></section>
</div>
</div>
</div>
<script type="module" src="/spa.js"></script>`,
  });
