/** Pages that state something and ask for nothing. */
import { type Html, html } from '../../../lib/extension-door.js';
import type { PageView } from '../view-models.js';
import { searchMark, warningMark } from './parts/icons.js';
import type { PageContent, PageContext } from './parts/layout.js';

interface Notice {
  readonly title: string;
  readonly message: string;
  readonly icon?: Html;
  readonly more?: Html | readonly (Html | false)[] | false;
}

/** Returns a page about a failure. */
export const failure = ({ title, message, icon = warningMark, more }: Notice): PageContent => ({
  title,
  mark: { icon, problem: true },
  problem: true,
  showReference: true,
  body: html`<div class="stack"><p>${message}</p>${more}</div>`,
});

export const buttonLink = (href: string, label: string): Html => html`<a class="button" href="${href}">${label}</a>`;

/** Returns the link back to the application, if its address is known. */
export const wayBack = (uri: string | undefined, { text, frame }: PageContext): Html | false =>
  uri !== undefined && buttonLink(uri, frame.client ? text('back', { client: frame.client.name }) : text('back.plain'));

/** Returns the page for actions that are not possible during an impersonation. */
export const impersonationView = (_view: PageView<'impersonation'>, { text, frame: { impersonation } }: PageContext): PageContent => ({
  ...failure({
    title: text('acting.title'),
    message: text('acting.message'),
    more: impersonation?.endAt !== undefined && buttonLink(impersonation.endAt, text('acting.end')),
  }),
  showReference: false,
});

/** Returns the page for a path that does not exist. Nothing failed, so the page has no reference and no warning. */
export const notFoundView = ({ account }: PageView<'not-found'>, { text }: PageContext): PageContent => ({
  title: text('notFound.title'),
  mark: { icon: searchMark, problem: false },
  problem: false,
  body: html`<div class="stack"><p>${text('notFound.message')}</p>${account !== undefined && buttonLink(account, text('notFound.account'))}</div>`,
});

/** Returns the page for a form that was sent twice, while the first request is still evaluated. */
export const underWayView = (_view: PageView<'under-way'>, { text }: PageContext): PageContent =>
  failure({ title: text('underWay.title'), message: text('underWay.message') });

/** Returns the page for a browser that sends no cookies. */
export const noCookiesView = ({ restart }: PageView<'no-cookies'>, context: PageContext): PageContent => {
  const { text, frame } = context;
  const more = restart === undefined ? wayBack(frame.client?.uri, context) : buttonLink(restart, text('startAgain'));
  return failure({ title: text('noCookies.title'), message: text('noCookies.message'), more });
};
