/** Pages after the user decided about a sign-out. Frames notify the applications with front-channel logout. */
import { type Html, html } from '../../../lib/extension-door.js';
import type { PageView } from '../view-models.js';
import { buttonLink, wayBack } from './notice.js';
import { doneMark } from './parts/icons.js';
import type { PageContent, PageContext } from './parts/layout.js';

/**
 * Continues, or lists the applications that did not answer, when all frames have loaded or after three seconds. A loaded frame of another origin counts as
 * an answer, because its answer cannot be read.
 */
const framesScript = `(function () {
  var frames = document.querySelectorAll('iframe');
  var next = document.querySelector('[data-way] a');
  var open = frames.length;
  var over = false;
  function hasAnswered(frame) {
    return frame.getAttribute('data-loaded') !== null || !frame.contentDocument;
  }
  function end() {
    if (over) return;
    over = true;
    if (next) return location.replace(next.href);
    for (var i = 0; i < frames.length; i += 1) {
      if (hasAnswered(frames[i])) continue;
      document.querySelector('[data-unanswered]').hidden = false;
      document.querySelector('[data-of="' + i + '"]').hidden = false;
    }
  }
  function loaded(event) {
    event.target.setAttribute('data-loaded', '');
    open -= 1;
    if (open === 0) end();
  }
  for (var i = 0; i < frames.length; i += 1) frames[i].addEventListener('load', loaded);
  setTimeout(end, 3000);
})()`;

/** Returns the link to a new sign-in, with an outline, because the user has just signed out. */
const wayIn = (href: string | undefined, { text }: PageContext): Html | false =>
  href !== undefined && html`<a class="button quiet" href="${href}">${text('signedOut.again')}</a>`;

/** @see OpenID Connect Front-Channel Logout 1.0 §2 */
export function signedOutView(
  { returnUrl, signIn, frames = [], unanswered = [], next }: PageView<'signed-out'>,
  context: PageContext,
): PageContent {
  const { text } = context;
  const list: Html = html`<div data-unanswered${unanswered.length === 0 && html` hidden`}><p>${text('signedOut.unanswered')}</p>
<ul class="names">${unanswered.map((name) => html`<li>${name}</li>`)}${frames.map(({ name }, index) => html`<li data-of="${index}" hidden>${name}</li>`)}</ul></div>`;
  return {
    title: text('signedOut.title'),
    mark: { icon: doneMark, problem: false },
    problem: false,
    body: html`<div class="stack"><p>${text(next === undefined ? 'signedOut.message' : 'continue.message')}</p>
${frames.length + unanswered.length > 0 && list}
${next === undefined ? wayBack(returnUrl, context) || wayIn(signIn, context) : html`<div data-way>${buttonLink(next, text('continue.submit'))}</div>`}
${frames.map(({ uri, name }) => html`<iframe src="${uri}" title="${name}" sandbox="allow-scripts allow-same-origin" hidden></iframe>`)}</div>`,
    // The script continues by itself. A browser that also obeyed the refresh would request the next page twice.
    ...(next === undefined ? {} : { goesOn: { to: next, afterSeconds: 5 } }),
    ...(frames.length > 0 ? { script: framesScript } : {}),
  };
}

/** Returns the page for a user who is signed in. */
export const stillSignedInView = ({ returnUrl, account }: PageView<'still-signed-in'>, context: PageContext): PageContent => ({
  title: context.text('stillSignedIn.title'),
  problem: false,
  body: html`<div class="stack"><p>${context.text('signedOut.message')}</p>${wayBack(returnUrl, context) || buttonLink(account, context.text('notFound.account'))}</div>`,
});
