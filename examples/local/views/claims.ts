/** Claims as a list of names and values, each with a word on what it is about where that is not plain. */
import { Html, html } from './html.js';

const meanings: Readonly<Record<string, string>> = {
  sub: 'The person: the same in all linked accounts',
  oid: 'This one account of the person',
  tid: 'The organisation signed in to',
  may_login: 'Where else this person can sign in',
  amr: 'How the person signed in',
  idp: 'Who checked the credentials',
  aud: 'Whom it is meant for',
  sid: 'The session at the identity provider',
  role: 'Groups in the organisation',
  perm: 'What these groups permit',
};
const keyClaims = new Set(['sub', 'oid', 'tid', 'may_login', 'active', 'error']);
const instants = new Set(['exp', 'iat', 'nbf', 'auth_time']);

export const claimList = (claims: object): Html => html`
<dl class="claims">
${Object.entries<unknown>({ ...claims }).map(
  ([name, value]) =>
    html`<div data-claim="${name}"${keyClaims.has(name) && new Html(' class="key"')}><dt>${name}</dt><dd>${markupOf(name, value)}${
      meanings[name] !== undefined && html`<small>${meanings[name]}</small>`
    }</dd></div>`,
)}
</dl>`;

function markupOf(name: string, value: unknown): Html {
  const time = instants.has(name) && typeof value === 'number' && new Date(value * 1000);
  if (time) return html`<code>${value}</code><small>${timeOf(time)}</small>`;
  const text = typeof value === 'object' ? JSON.stringify(value, undefined, isFlat(value) ? undefined : 2) : JSON.stringify(value);
  return html`<code>${text}</code>`;
}

const isFlat = (value: object | null): boolean => Object.values(value ?? {}).every((inner) => typeof inner !== 'object');

/** `2031-05-17 09:30:12 UTC` */
export const timeOf = (time: Date): Html =>
  html`<time datetime="${time.toISOString()}">${time
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC')}</time>`;
