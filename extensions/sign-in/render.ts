/** Rendering: turns a view model and its frame into a document and its policy. Rendering has no state and no I/O. */
import { hashSource, html, type PagePolicy } from '../../lib/extension-door.js';
import { brandStyle } from './branding.js';
import { styleSheet } from './styles.js';
import { translator } from './texts/index.js';
import type { PageFrame, PageName, PageView } from './view-models.js';
import { accountsView } from './views/accounts.js';
import { consentView } from './views/consent.js';
import { continueView } from './views/continue.js';
import { createView } from './views/create.js';
import { errorView } from './views/error.js';
import { expiredView } from './views/expired.js';
import { identifierView } from './views/identifier.js';
import { logoutView } from './views/logout.js';
import { impersonationView, noCookiesView, notFoundView, underWayView } from './views/notice.js';
import { organisationView } from './views/organisation.js';
import { problemSummary, tooLongText } from './views/parts/form.js';
import { frameIcon, frameLogo, layout, type PageContent, type PageContext, scriptOf } from './views/parts/layout.js';
import { extensionView } from './views/parts/view.js';
import { passwordView } from './views/password.js';
import { signedOutView, stillSignedInView } from './views/signed-out.js';
import { unavailableView } from './views/unavailable.js';
import { welcomeView } from './views/welcome.js';
import { wrongLinkView } from './views/wrong-link.js';

type View<Name extends PageName> = (view: PageView<Name>, context: PageContext) => PageContent;

const views: { readonly [Name in PageName]: View<Name> } = {
  identifier: identifierView,
  password: passwordView,
  accounts: accountsView,
  create: createView,
  organisation: organisationView,
  consent: consentView,
  logout: logoutView,
  continue: continueView,
  'signed-out': signedOutView,
  'still-signed-in': stillSignedInView,
  error: errorView,
  expired: expiredView,
  unavailable: unavailableView,
  'under-way': underWayView,
  'no-cookies': noCookiesView,
  'wrong-link': wrongLinkView,
  'not-found': notFoundView,
  impersonation: impersonationView,
  welcome: welcomeView,
  view: extensionView,
};

const sheetSource = hashSource(styleSheet);

function contentOf<Name extends PageName>(view: PageView<Name>, context: PageContext): PageContent {
  const content = views[view.page as Name](view, context);
  const { tooLong } = context.frame;
  if (!tooLong) return content;
  // A field that users do not see has no place on the page for its problem.
  const isAtField = content.body.markup.includes(`id="${tooLong.name}-problem"`);
  const body = isAtField ? content.body : html`<div class="stack">${problemSummary(tooLongText(context))}${content.body}</div>`;
  return { ...content, problem: true, body };
}
const contextOf = (frame: PageFrame): PageContext => ({ text: translator(frame.locale), frame });

/** Returns the document of a page. */
export function renderPage<Name extends PageName>(view: PageView<Name>, frame: PageFrame): string {
  const context = contextOf(frame);
  return layout(contentOf(view, context), context).markup;
}

/** Returns what the document of this view and frame may load, for `pageHeaders`. */
export function pagePolicy(view: PageView, frame: PageFrame): PagePolicy {
  const images = [frameLogo(frame), frameIcon(frame)].filter((uri) => uri !== undefined);
  const script = scriptOf(contentOf(view, contextOf(frame)));
  const frames = view.page === 'signed-out' ? (view.frames ?? []) : [];
  return {
    styles: [sheetSource, brandStyle(frame.branding).source],
    ...(script !== undefined && { script: hashSource(script) }),
    ...(frames.length > 0 && { frames: frames.map(({ uri }) => uri) }),
    ...(images.length > 0 && { images }),
  };
}
