/** Persons by organisation, the forms that invite and link, and the feed of events. */
import type { ItemOf } from 'tenant-idp/admin-client';
import { type Html, html } from './html.js';
import { layout } from './layout.js';

export type Person = ItemOf<'GET /tenants/{tid}/persons'>;

interface Organisation {
  readonly id: string;
  readonly name: string;
  readonly persons: readonly Person[];
}

export interface BackOfficeOptions {
  readonly organisations: readonly Organisation[];
  /** Refusal of the admin API. */
  readonly problem?: string;
}

export const backOfficePage = ({ organisations, problem }: BackOfficeOptions): string => {
  const users = organisations.flatMap(({ name, id: tid, persons }) =>
    persons.flatMap(({ user }) => (user ? [{ ...user, tid, label: `${user.userName} at ${name}` }] : [])),
  );
  return layout({
    title: 'Back office',
    corner: html`<a class="button small" href="/mail">Mail</a>`,
    body: html`
<section class="who"><div><h1>Back office</h1><p>Everything here goes by the admin API.</p></div></section>
${problem !== undefined && html`<p class="notice problem" role="alert">${problem}</p>`}
<div class="panels">
<div id="persons">${organisations.map(personsPanel)}</div>
${panel(
  'invite',
  'Invite somebody',
  'They get a mail with a link, and set a password of their own.',
  html`<form method="post" action="/back-office/invite" class="fields">
<label>Organisation<select name="tid">${organisations.map(({ id, name }) => html`<option value="${id}">${name}</option>`)}</select></label>
<label>Given name<input name="givenName" maxlength="100"></label>
<label>Family name<input name="familyName" maxlength="100"></label>
<label>E-mail<input name="email" type="email" required maxlength="200"></label>
<button class="button small primary">Invite</button>
</form>`,
)}
${panel(
  'link',
  'Link two accounts',
  'The account takes the `sub` of its parent, in another organisation.',
  html`<form method="post" action="/back-office/link" class="fields">
<label>Account<select name="child">${users.map(({ id, tid, label }) => html`<option value="${tid} ${id}">${label}</option>`)}</select></label>
<label>Parent<select name="parentId">${users.map(({ id, label }) => html`<option value="${id}">${label}</option>`)}</select></label>
<button class="button small primary">Link</button>
</form>`,
)}
${panel('events', 'Events', 'as they happen', html`<ol class="feed" tabindex="0" aria-labelledby="events-title" aria-live="polite"></ol>`)}
</div>
<script type="module" src="/back-office.js"></script>`,
  });
};

const panel = (id: string, title: string, about: string, body: Html): Html => html`
<section class="panel" id="${id}" aria-labelledby="${id}-title">
<div class="panel-head"><div><h2 id="${id}-title">${title}</h2><p>${about}</p></div></div>
${body}
</section>`;

const personsPanel = ({ id, name, persons }: Organisation): Html =>
  panel(
    `persons-${id}`,
    name,
    `${persons.length} persons`,
    html`<ul class="people">
${persons.map(
  ({
    givenName,
    familyName,
    email,
    user,
  }) => html`<li data-person="${email ?? ''}"><strong>${[givenName, familyName].filter(Boolean).join(' ') || user?.userName || email}</strong><span>${email}</span>
<span data-status="${user?.status ?? 'none'}">${user ? user.status : 'no user'}${user?.parentUserId !== undefined && ', linked'}${user?.isParent && ', a parent'}</span></li>`,
)}
</ul>`,
  );
