import type { Context } from 'koa';
import {
  accountName,
  type Client,
  chosenLanguage,
  type ExtensionContext,
  longFieldOf,
  type OwnPageState,
  pageHeaders,
  present,
  type Tenant,
} from '../../lib/extension-door.js';
import { brandingOf } from './branding.js';
import { filled } from './texts/filled.js';
import { type Locale, negotiateLocale } from './texts/index.js';
import type { LanguageMenu, PageFrame, PageName, PageView } from './view-models.js';

/** Text of an extension on a page. */
export interface Addition {
  readonly name: string;
  readonly place: 'foot' | 'password';
  readonly text: string;
  readonly href?: string;
  readonly values: Readonly<Record<string, string>>;
}

/** Client, tenant and request to which a page belongs. */
export interface Surroundings {
  readonly client?: Client | undefined;
  readonly tenant?: Tenant | undefined;
  readonly uiLocales?: string | undefined;
  readonly reference?: string | undefined;
  /** Path of the sign-in's pages. The language cookie contains no other part of a path. */
  readonly signInPath?: string | undefined;
  /** Texts of extensions on a page that is a step of a sign-in. */
  readonly additions?: readonly Addition[];
}

/** Parts of the service that every page needs. */
type PageHost = Pick<ExtensionContext, 'impersonation' | 'service' | 'http' | 'pages'>;

const HSTS = 'Strict-Transport-Security';

/** Renderer of pages. The first page loads it, because a service for programs alone shows no page. */
let look: typeof import('./render.js') | undefined;

/** Sends a page: its document, and headers that let it load nothing from elsewhere. */
export async function show<Name extends PageName>(
  ctx: Context,
  host: PageHost,
  given: PageView<Name>,
  surroundings: Surroundings,
): Promise<void> {
  const tooLong = longFieldOf(ctx);
  look ??= await import('./render.js');
  const { pagePolicy, renderPage } = look;
  const view = tooLong ? withoutProblems(given) : given;
  const languages = languageMenu(ctx, host, view as PageView, surroundings);
  const around = frameOf(ctx, host, surroundings);
  const impersonation = await impersonationIn(ctx, host);
  const frame = { ...around, ...(languages ? { languages } : {}), ...(impersonation ? { impersonation } : {}), ...present({ tooLong }) };
  const { [HSTS]: transport, ...headers } = pageHeaders(host.service.issuer, pagePolicy(view as PageView, frame));
  ctx.set(headers);
  // Windows of other sites get no handle of a user's own page. Pages of a sign-in or sign-out are sent without the header, because they may be in a pop-
  // up.
  if ((ctx.state as OwnPageState).ownPageOf) ctx.set('Cross-Origin-Opener-Policy', 'same-origin');
  // A header that the host has set for its domain stays.
  if (transport !== undefined && !ctx.response.get(HSTS)) ctx.set(HSTS, transport);
  ctx.type = 'html';
  ctx.body = renderPage(view, frame);
}

/** Returns the view without the problems of another refusal, for a page that is shown again because a field is too long. */
function withoutProblems<Name extends PageName>(view: PageView<Name>): PageView<Name> {
  const { problem: _, problems: __, ...rest } = view as PageView<'create'>;
  return rest as unknown as PageView<Name>;
}

/** Returns the language of a page. The language of the person precedes the browser's languages on the person's own pages. */
export function localeOf(ctx: Context, host: PageHost, { tenant, uiLocales, signInPath }: Surroundings): Locale {
  const asked = chosenLanguage(ctx, host, signInPath) ?? uiLocales ?? '';
  const own = (ctx.state as OwnPageState).ownPageOf?.locale ?? '';
  const sources = { uiLocales: `${asked} ${own}`, acceptLanguage: ctx.get('accept-language'), tenantLocale: tenant?.locale };
  return negotiateLocale(sources, host.service.locales as readonly Locale[]);
}

function frameOf(ctx: Context, host: PageHost, surroundings: Surroundings): PageFrame {
  const { client, tenant, reference, signInPath, additions: added = [] } = surroundings;
  const { client_uri: uri, policy_uri: policyUri, tos_uri: termsUri } = (client?.metadata ?? {}) as Record<string, string | undefined>;
  const locale = localeOf(ctx, host, surroundings);
  const isForAccount = client !== undefined && host.pages.isOwnPage(client);
  const additions = additionsIn(added, host.pages.texts(locale));
  return {
    locale,
    ...(client && !isForAccount
      ? { client: { name: client.name, ...(uri && { uri }), ...(policyUri && { policyUri }), ...(termsUri && { termsUri }) } }
      : {}),
    ...(isForAccount ? { isForAccount } : {}),
    ...(tenant ? { tenant: { name: tenant.name } } : {}),
    ...(signInPath === undefined ? {} : { isStep: true }),
    branding: brandingOf(host.service.branding, { client, tenant }),
    ...present({ account: accountOf(ctx, host) }),
    ...(reference ? { reference } : {}),
    ...(additions.length > 0 ? { additions } : {}),
  };
}

/** Returns the link to the account page, for the user's own pages except the account page. */
function accountOf(ctx: Context, { service: { own, url } }: PageHost): string | undefined {
  const account = url(`${own}/account`);
  const isHere = new URL(ctx.href).pathname === new URL(account).pathname;
  return (ctx.state as OwnPageState).ownPageOf && !isHere ? account : undefined;
}

/** Returns the impersonator and the impersonated user of the browser, and where the impersonation can be ended. */
async function impersonationIn(
  ctx: Context,
  { impersonation: { current: impersonation }, service: { logger } }: PageHost,
): Promise<PageFrame['impersonation']> {
  try {
    const here = await impersonation(ctx);
    if (!here) return undefined;
    const { actor, account, endAt } = here;
    return { actor: accountName(actor.person), user: accountName(account.person), ...present({ endAt }) };
  } catch (err) {
    // The page may be about the failure itself, so it is shown without the impersonation.
    logger.warn({ err }, 'the service showed a page without the name of the impersonator');
    return undefined;
  }
}

/** Returns the texts of extensions on a page, in its language. */
const additionsIn = (additions: readonly Addition[], texts: Readonly<Record<string, string>>): NonNullable<PageFrame['additions']> =>
  additions.map(({ name, place, text, href, values }) => ({
    name,
    place,
    text: filled(texts[text] ?? text, values),
    ...present({ href }),
  }));

/** Maximum bytes of a query that links repeat. */
const MAX_QUERY = 2000;

/**
 * Returns the links that show this page in another language:
 * - a page after a GET request: the same request
 * - the password page: its form
 * - another page after a form: the current page of the sign-in
 * - a page that redirects by itself: none, because it would redirect twice
 */
function languageMenu(
  ctx: Context,
  { service: { locales } }: PageHost,
  view: PageView,
  { signInPath }: Surroundings,
): LanguageMenu | undefined {
  if (view.page === 'continue' || (view.page === 'signed-out' && view.next !== undefined)) return undefined;
  const menu = { locales: locales as readonly Locale[] };
  if (ctx.method !== 'POST') {
    const rest = ctx.querystring.length > MAX_QUERY ? '' : repeatedQuery(ctx, view);
    return { ...menu, link: `?${rest}${rest === '' ? '' : '&'}ui_locales=` };
  }
  const path = signInPath ?? stepPath.exec(new URL(ctx.href).pathname)?.[1];
  if (path === undefined) return undefined;
  const link = `${path}?ui_locales=`;
  if (view.page !== 'password') return { ...menu, link };
  const { csrf, identifier } = view;
  return { ...menu, link, form: { action: `${path}/identifier`, fields: { csrf, identifier } } };
}

/** Parameters that identify a user or a client. Documents do not contain them. */
const credentials = ['id_token_hint', 'login_hint_token', 'sso_token', 'request', 'client_secret', 'client_assertion', 'password'];

/** Returns the query that requests this page again. For an error page, an invalid value replaces each credential, so that the error stays. */
function repeatedQuery(ctx: Context, { page }: PageView): string {
  const query = new URLSearchParams(ctx.querystring);
  query.delete('ui_locales');
  // The user has signed out, so the page must not redirect to the address in the query again.
  if (page === 'signed-out') query.delete('post_logout_redirect_uri');
  for (const name of credentials) {
    if (!query.has(name)) continue;
    if (page === 'error') query.set(name, '-');
    else query.delete(name);
  }
  return String(query);
}

/** Path of a step of a sign-in that is unknown here. */
const stepPath = /^([\w/.~-]*\/interaction\/[\w-]+)\//;
