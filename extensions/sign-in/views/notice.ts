/** The shape of a page that says something rather than asks. */
import { type Html, html } from '../../../lib/extension-door.js';
import type { PageView } from '../view-models.js';
import { warningMark } from './parts/icons.js';
import type { PageContent, PageContext } from './parts/layout.js';

interface Notice {
  readonly title: string;
  readonly message: string;
  readonly icon?: Html;
  readonly more?: Html | readonly (Html | false)[] | false;
}

/** A page about something that went wrong. */
export const failure = ({ title, message, icon = warningMark, more }: Notice): PageContent => ({
  title,
  mark: { icon, problem: true },
  problem: true,
  showReference: true,
  body: html`<div class="stack"><p>${message}</p>${more}</div>`,
});

export const buttonLink = (href: string, label: string): Html => html`<a class="button" href="${href}">${label}</a>`;

/** Back to the application, if it is known where that is. */
export const wayBack = (uri: string | undefined, { text, frame }: PageContext): Html | false =>
  uri !== undefined && buttonLink(uri, frame.client ? text('back', { client: frame.client.name }) : text('back.plain'));

/** What people do for themselves alone, while somebody acts as somebody else. */
export const impersonationView = (_view: PageView<'impersonation'>, { text, frame: { impersonation } }: PageContext): PageContent => ({
  ...failure({
    title: text('acting.title'),
    message: text('acting.message'),
    more: impersonation?.endAt !== undefined && buttonLink(impersonation.endAt, text('acting.end')),
  }),
  showReference: false,
});

/** Page for a form that was sent twice, while the first request is still evaluated. */
export const underWayView = (_view: PageView<'under-way'>, { text }: PageContext): PageContent =>
  failure({ title: text('underWay.title'), message: text('underWay.message') });

/** Page for a browser that sends no cookies. */
export const noCookiesView = ({ restart }: PageView<'no-cookies'>, context: PageContext): PageContent => {
  const { text, frame } = context;
  const more = restart === undefined ? wayBack(frame.client?.uri, context) : buttonLink(restart, text('startAgain'));
  return failure({ title: text('noCookies.title'), message: text('noCookies.message'), more });
};
