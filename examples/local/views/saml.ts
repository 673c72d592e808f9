/** Results of a SAML sign-in: the NameID and the attributes of the assertion. */
import type { Profile } from '@node-saml/node-saml';
import { claimList } from './claims.js';
import { html } from './html.js';
import { layout } from './layout.js';

export interface SamlOptions {
  readonly profile: Profile | undefined;
  readonly signedOut: boolean;
}

export const samlPage = ({ profile, signedOut }: SamlOptions): string =>
  profile
    ? layout({
        title: 'Expense desk',
        corner: html`<form method="post" action="/saml/sign-out"><button class="button small">Sign out</button></form>`,
        body: html`
<section class="who"><div><h1>Expense desk</h1><p>Signed in by SAML</p></div></section>
<div class="panels">
<section class="panel" id="subject" aria-labelledby="subject-title">
<div class="panel-head"><div><h2 id="subject-title">Subject</h2><p>whom the assertion is about</p></div></div>
${claimList({ nameID: profile.nameID, nameIDFormat: profile.nameIDFormat, sessionIndex: profile.sessionIndex, issuer: profile.issuer })}
</section>
<section class="panel" id="attributes" aria-labelledby="attributes-title">
<div class="panel-head"><div><h2 id="attributes-title">Attributes</h2><p>what this service provider is registered for</p></div></div>
${claimList((profile.attributes ?? {}) as object)}
</section>
</div>`,
      })
    : layout({
        title: 'Expense desk',
        body: html`
<div class="home">
<section class="hero">
${signedOut && html`<p class="notice" role="status">You are signed out.</p>`}
<h1>An application that speaks SAML</h1>
<p class="lead">The same accounts, pages and session as in the order desk: a user who is signed in there is signed in here without being asked.</p>
<a class="button primary" href="/saml/sign-in">Sign in</a>
</section>
</div>`,
      });
