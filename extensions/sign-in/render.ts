/** A view model and its frame in, a document and what it may load out; no state, no I/O. */
import { hashSource, type PagePolicy } from '../../lib/extension-door.js';
import { brandStyle } from './branding.js';
import { styleSheet } from './styles.js';
import { translator } from './texts/index.js';
import type { PageFrame, PageName, PageView } from './view-models.js';
import { accountsView } from './views/accounts.js';
import { consentView } from './views/consent.js';
import { continueView, submitScript } from './views/continue.js';
import { createView } from './views/create.js';
import { errorView } from './views/error.js';
import { expiredView } from './views/expired.js';
import { identifierScript, identifierView } from './views/identifier.js';
import { logoutView } from './views/logout.js';
import { organisationView } from './views/organisation.js';
import { frameLogo, layout, type PageContent, type PageContext } from './views/parts/layout.js';
import { extensionView } from './views/parts/view.js';
import { passwordView } from './views/password.js';
import { framesScript, signedOutView } from './views/signed-out.js';
import { unavailableView } from './views/unavailable.js';
import { welcomeView } from './views/welcome.js';

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
  error: errorView,
  expired: expiredView,
  unavailable: unavailableView,
  welcome: welcomeView,
  view: extensionView,
};

const sheetSource = hashSource(styleSheet);
const submitSource = hashSource(submitScript);
const framesSource = hashSource(framesScript);

/** The document of a page. */
export function renderPage<Name extends PageName>(view: PageView<Name>, frame: PageFrame): string {
  const context: PageContext = { text: translator(frame.locale), frame };
  return layout(views[view.page as Name](view, context), context).markup;
}

/** What the document of the same view and frame may load, for `pageHeaders`. */
export function pagePolicy(view: PageView, frame: PageFrame): PagePolicy {
  const image = frameLogo(frame);
  const script = view.page === 'identifier' ? identifierScript(view) : view.page === 'view' ? view.script : undefined;
  const frames = view.page === 'signed-out' ? (view.frames ?? []) : [];
  return {
    styles: [sheetSource, brandStyle(frame.branding).source],
    ...(view.page === 'continue' && { script: submitSource }),
    ...(script !== undefined && { script: hashSource(script) }),
    ...(frames.length > 0 && { script: framesSource, frames: frames.map(({ uri }) => uri) }),
    ...(image !== undefined && { image }),
  };
}
