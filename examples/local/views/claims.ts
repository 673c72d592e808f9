/** Claims as a list of names and values. A claim that needs an explanation has a short explanation. */
import { type Html, html } from './html.js';

const meanings: Readonly<Record<string, string>> = {
  sub: 'The person: the same in all linked accounts',
  oid: 'This one account of the person',
  tid: 'The organisation signed in to',
  may_login: 'Where else this person can sign in',
  amr: 'How the person signed in',
  idp: 'Who checked the credentials',
  act: 'Who acts as the person',
  aud: 'Whom it is meant for',
  sid: 'The session at the identity provider',
  role: 'Groups in the organisation',
  perm: 'What these groups permit',
};
const keyClaims = new Set(['sub', 'oid', 'tid', 'may_login', 'act', 'active', 'error']);
const instants = new Set(['exp', 'iat', 'nbf', 'auth_time']);

export const claimList = (claims: object): Html => html`
<dl class="claims">
${Object.entries<unknown>({ ...claims }).map(([name, value]) => row(name, value))}
</dl>`;

function row(name: string, value: unknown): Html {
  const nested = typeof value === 'object' && Object.values(value ?? {}).some((inner) => typeof inner === 'object');
  const classes = `${keyClaims.has(name) ? 'key' : ''} ${nested ? 'wide' : ''}`.trim();
  const note = instants.has(name) && typeof value === 'number' ? timeOf(new Date(value * 1000)) : meanings[name];
  return html`<div class="${classes}" data-claim="${name}"><dt>${name}</dt><dd><code>${JSON.stringify(value, undefined, nested ? 2 : undefined)}</code>${
    note !== undefined && html`<small>${note}</small>`
  }</dd></div>`;
}

/** Returns a time as `2031-05-17 09:30:12 UTC`. */
export const timeOf = (time: Date): Html =>
  html`<time datetime="${time.toISOString()}">${time
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC')}</time>`;
