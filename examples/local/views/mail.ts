import type { MailMessage } from 'tenant-idp';
import { timeOf } from './claims.js';
import { type Html, html } from './html.js';
import { layout } from './layout.js';

export interface Letter extends MailMessage {
  readonly number: number;
  readonly at: Date;
}

export const mailPage = (letters: readonly Letter[]): string =>
  layout({
    title: 'Mail',
    body: html`
<section class="panel accounts" aria-labelledby="mail">
<div class="panel-head"><div><h1 id="mail">Mail</h1><p>What the identity provider would have sent</p></div></div>
${letters.length === 0 && html`<p class="about">Nothing yet: <a href="/back-office">invite somebody</a>.</p>`}
<ul>
${letters.map(
  ({ number, to, subject, at }) =>
    html`<li><a href="/mail/${number}"><strong>${subject}</strong></a><span>To ${to}, ${timeOf(at)}</span></li>`,
)}
</ul>
</section>`,
  });

export const letterPage = ({ subject, to, text, at }: Letter): string =>
  layout({
    title: subject,
    corner: html`<a class="button small" href="/mail">All mail</a>`,
    body: html`
<section class="panel" aria-labelledby="subject">
<div class="panel-head"><div><h1 id="subject">${subject}</h1><p>To ${to}, ${timeOf(at)}</p></div></div>
<pre>${withLinks(text)}</pre>
</section>`,
  });

/** Turns URLs in the text into links. */
const withLinks = (text: string): readonly Html[] =>
  text.split(/(https?:\/\/[^\s<>"]+)/).map((part, index) => (index % 2 === 1 ? html`<a href="${part}">${part}</a>` : html`${part}`));
