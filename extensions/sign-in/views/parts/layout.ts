/** Layout of all pages: the document, the head of the card, the footer. */
import { Html, html } from '../../../../lib/extension-door.js';
import { brandStyle, imageUrl } from '../../branding.js';
import { canvases, styleSheet } from '../../styles.js';
import { localeNames, type Translate } from '../../texts/index.js';
import type { LanguageMenu, PageFrame } from '../../view-models.js';
import { hiddenFields } from './hidden-fields.js';
import { chevronIcon, globeIcon } from './icons.js';
import { outsideLink } from './links.js';
import { revealScript } from './reveal.js';
import { withWholeWords } from './whole-words.js';

/** Input of a view in addition to its model. */
export interface PageContext {
  readonly text: Translate;
  readonly frame: PageFrame;
}

/** Content that a view returns. */
export interface PageContent {
  /** Heading of the page. */
  readonly title: string;
  /** Text under the heading, below the names of the client and the tenant. */
  readonly lead?: string;
  /** Mark for the state of the page. Absent for the logo. */
  readonly mark?: { readonly icon: Html; readonly problem: boolean };
  /** Whether the page reports a problem, which its document title states. */
  readonly problem: boolean;
  /** Whether the page shows the reference of the request, because the log has details about the failure. */
  readonly showReference?: boolean;
  readonly body: Html;
  /** Address to which a browser without scripts continues, and after how many seconds. */
  readonly goesOn?: { readonly to: string; readonly afterSeconds: number };
  /** Whether the page has a password with a button that shows it. */
  readonly hasPassword?: boolean;
  /** Script that runs after the page has loaded. The page's policy contains its hash. */
  readonly script?: string;
}

/** Returns up to two letters for the name of a person, or its first character if it has no letters. */
export function initials(name: string): string {
  const words = name.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  return (words.length === 0 ? [name.trim()] : words.slice(0, 2)).map((word) => [...word][0]?.toUpperCase()).join('');
}

/** Returns the address of the logo. */
export const frameLogo = ({ branding }: PageFrame): string | undefined => imageUrl(branding?.logoUri);

/** Returns the address of the browser tab's icon. */
export const frameIcon = ({ branding }: PageFrame): string | undefined => imageUrl(branding?.faviconUri);

/** Returns the mark of the page's state, else the logo. Initials stand for persons alone, so an application without a logo has no mark. */
function renderMark({ mark }: PageContent, frame: PageFrame): Html | false {
  if (mark) return html`<div class="mark ${mark.problem ? 'problem' : 'status'}">${mark.icon}</div>`;
  const logo = frameLogo(frame);
  return logo !== undefined && html`<img class="logo" src="${logo}" alt="">`;
}

function languageMenu({ locales, link, form }: LanguageMenu, { text, frame }: PageContext): Html {
  const entries = locales.map((locale) => {
    const current = locale === frame.locale && html` aria-current="true"`;
    const name = localeNames[locale];
    return form
      ? html`<li><button class="text-link" type="submit" name="ui_locales" value="${locale}" lang="${locale}"${current}>${name}</button></li>`
      : html`<li><a class="text-link" href="${link + locale}" lang="${locale}" hreflang="${locale}"${current}>${name}</a></li>`;
  });
  const list = html`<ul>${entries}</ul>`;
  return html`<nav class="languages" aria-label="${text('language')}"><details>
<summary>${globeIcon}<span>${localeNames[frame.locale]}</span></summary>
${form ? html`<form method="post" action="${form.action}">${hiddenFields(form.fields)}${list}</form>` : list}
</details></nav>`;
}

const addition = ({ text, href }: NonNullable<PageFrame['additions']>[number]): Html =>
  html`<li>${href === undefined ? text : html`<a class="text-link" href="${href}">${text}</a>`}</li>`;

/** Returns the links of the branding: privacy, terms, help. */
function helpLinks({ text, frame: { branding: { privacyUri, termsUri, helpUri } = {} } }: PageContext): Html[] {
  const links = [
    [privacyUri, text('foot.privacy')],
    [termsUri, text('foot.terms')],
    [helpUri, text('foot.help')],
  ] as const;
  return links.flatMap(([href, label]) => (href === undefined ? [] : [html`<li>${outsideLink(href, label)}</li>`]));
}

function footer({ showReference }: PageContent, context: PageContext): Html | false {
  const { text, frame } = context;
  const reference =
    showReference === true &&
    frame.reference !== undefined &&
    html`<p class="reference">${text('reference')} <code>${frame.reference}</code></p>`;
  const languages = frame.languages !== undefined && languageMenu(frame.languages, context);
  const links = [...helpLinks(context), ...(frame.additions ?? []).filter(({ place }) => place === 'foot').map(addition)];
  const additions = links.length > 0 && html`<ul class="additions">${links}</ul>`;
  return (reference || additions || languages) && html`<footer>${reference}${additions}${languages}</footer>`;
}

/** Returns the names of the client and the tenant that the heading does not contain. */
const unsaidNames = ({ title, lead = '' }: PageContent, { client, tenant }: PageFrame): string[] => [
  ...new Set([client?.name, tenant?.name].filter((name) => name !== undefined && !`${title} ${lead}`.includes(name)) as string[]),
];

/** Returns the names under the heading. On a step of a sign-in, a line of its own continues the heading: “to continue to” the client. */
function namesLine(content: PageContent, { text, frame }: PageContext): Html | false {
  const names = unsaidNames(content, frame);
  const isStep = frame.isStep && content.mark === undefined;
  const client = isStep ? names.find((name) => name === frame.client?.name) : undefined;
  const others = names.filter((name) => name !== client).join(' · ');
  const isAccountUnsaid = isStep && frame.isForAccount && content.title !== text('signIn.title.account');
  const next = client === undefined ? isAccountUnsaid && text('signIn.continue.account') : text('signIn.continue', { client });
  const lines = [next || '', others].filter((line) => line !== '');
  return lines.length > 0 && html`<p class="names">${lines.map((line, index) => html`${index > 0 && html`<br>`}${line}`)}</p>`;
}

/** Returns the link from a user's own page to the account page. */
const accountLink = ({ text, frame: { account } }: PageContext): Html | false =>
  account !== undefined && html`<a class="text-link up" href="${account}">${chevronIcon}${text('account.up')}</a>`;

function documentTitle(content: PageContent, { text, frame }: PageContext): string {
  const title = [content.title, ...unsaidNames(content, frame)].join(' – ');
  return content.problem ? text('problemTitle', { title }) : title;
}

/** Returns all scripts of a page, each in its own scope. */
export function scriptOf({ hasPassword = false, script }: PageContent): string | undefined {
  const sources = [...(hasPassword ? [revealScript] : []), ...(script === undefined ? [] : [script])];
  return sources.length < 2 ? sources[0] : sources.map((source) => `{${source}}`).join('\n');
}

/** Returns the banner that names the impersonator and the impersonated user. */
const impersonationBanner = ({ text, frame: { impersonation } }: PageContext): Html | false =>
  impersonation !== undefined &&
  html`<header class="acting"><p>${text('acting.banner', { actor: impersonation.actor, user: impersonation.user })}</p>${
    impersonation.endAt !== undefined && html`<a href="${impersonation.endAt}">${text('acting.end')}</a>`
  }</header>
`;

/** Returns the whole document. */
export function layout(content: PageContent, context: PageContext): Html {
  const { frame } = context;
  const script = scriptOf(content);
  const icon = frameIcon(frame);
  return html`<!doctype html>
<html lang="${frame.locale}" dir="ltr">
<head>
<meta charset="utf-8">
<title>${documentTitle(content, context)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
${
  icon !== undefined &&
  html`<link rel="icon" href="${icon}">
`
}${content.goesOn !== undefined && html`<noscript><meta http-equiv="refresh" content="${content.goesOn.afterSeconds}; url=${content.goesOn.to}"></noscript>`}
<meta name="theme-color" content="${canvases.light}" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="${canvases.dark}" media="(prefers-color-scheme: dark)">
<style>${new Html(styleSheet)}</style>
<style>${new Html(brandStyle(frame.branding).css)}</style>
</head>
<body>
${withWholeWords(html`${impersonationBanner(context)}<main>
<div class="intro">
${accountLink(context)}
${renderMark(content, frame)}
<h1>${content.title}</h1>
${namesLine(content, context)}
${content.lead !== undefined && html`<p class="lead">${content.lead}</p>`}
</div>
${content.body}
</main>
${footer(content, context)}`)}
${script !== undefined && html`<script>${new Html(script)}</script>`}
</body>
</html>
`;
}
