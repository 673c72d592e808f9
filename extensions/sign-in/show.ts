import type { Context } from 'koa';
import {
  accountName,
  type Client,
  chosenLanguage,
  type ExtensionContext,
  type OwnPageState,
  pageHeaders,
  present,
  type Tenant,
} from '../../lib/extension-door.js';
import { brandingOf } from './branding.js';
import { filled } from './texts/filled.js';
import { type Locale, negotiateLocale } from './texts/index.js';
import type { LanguageMenu, PageFrame, PageName, PageView } from './view-models.js';

/** A key of the texts of extensions, for one page. */
export interface Addition {
  readonly name: string;
  readonly place: 'foot' | 'password';
  readonly text: string;
  readonly href?: string;
  readonly values: Readonly<Record<string, string>>;
}

/** Whose page it is. */
export interface Surroundings {
  readonly client?: Client | undefined;
  readonly tenant?: Tenant | undefined;
  readonly uiLocales?: string | undefined;
  readonly reference?: string | undefined;
  /** The path of the sign-in's pages. Nothing else of a path gets into a cookie. */
  readonly signInPath?: string | undefined;
  /** What extensions add to a page that is a step of a sign-in. */
  readonly additions?: readonly Addition[];
}

/** What every page needs of the service. */
type PageHost = Pick<ExtensionContext, 'impersonation' | 'service' | 'http' | 'pages'>;

const HSTS = 'Strict-Transport-Security';

/** How pages look. The first one loads it, because a service that only programs talk to shows none. */
let look: typeof import('./render.js') | undefined;

/** Sends a page: its document, and headers that let it load nothing but itself. */
export async function show<Name extends PageName>(
  ctx: Context,
  host: PageHost,
  view: PageView<Name>,
  surroundings: Surroundings,
): Promise<void> {
  look ??= await import('./render.js');
  const { pagePolicy, renderPage } = look;
  const languages = languageMenu(ctx, host, view as PageView, surroundings);
  const around = frameOf(ctx, host, surroundings);
  const impersonation = await impersonationIn(ctx, host);
  const frame = { ...around, ...(languages ? { languages } : {}), ...(impersonation ? { impersonation } : {}) };
  const { [HSTS]: transport, ...headers } = pageHeaders(host.service.issuer, pagePolicy(view as PageView, frame));
  ctx.set(headers);
  // Windows of other sites keep no handle on a person's own page. Pages of a sign-in or sign-out are sent without the header: they may be in a pop-up.
  if ((ctx.state as OwnPageState).isOwnPage) ctx.set('Cross-Origin-Opener-Policy', 'same-origin');
  // What a host says about its domain stays.
  if (transport !== undefined && !ctx.response.get(HSTS)) ctx.set(HSTS, transport);
  ctx.type = 'html';
  ctx.body = renderPage(view, frame);
}

/** The language of a page. */
export function localeOf(ctx: Context, host: PageHost, { tenant, uiLocales, signInPath }: Surroundings): Locale {
  const asked = chosenLanguage(ctx, host, signInPath) ?? uiLocales;
  const sources = { uiLocales: asked, acceptLanguage: ctx.get('accept-language'), tenantLocale: tenant?.locale };
  return negotiateLocale(sources, host.service.locales as readonly Locale[]);
}

function frameOf(ctx: Context, host: PageHost, surroundings: Surroundings): PageFrame {
  const { client, tenant, reference, additions: added = [] } = surroundings;
  const { client_uri: uri, policy_uri: policyUri, tos_uri: termsUri } = (client?.metadata ?? {}) as Record<string, string | undefined>;
  const locale = localeOf(ctx, host, surroundings);
  const additions = additionsIn(added, host.pages.texts(locale));
  return {
    locale,
    ...(client
      ? { client: { name: client.name, ...(uri && { uri }), ...(policyUri && { policyUri }), ...(termsUri && { termsUri }) } }
      : {}),
    ...(tenant ? { tenant: { name: tenant.name } } : {}),
    branding: brandingOf(host.service.branding, { client, tenant }),
    ...(reference ? { reference } : {}),
    ...(additions.length > 0 ? { additions } : {}),
  };
}

/** Who acts as whom in the browser, with where that can be ended. */
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
    // What went wrong may be what the page is about: it is shown without.
    logger.warn({ err }, 'page shown without who acts as whom');
    return undefined;
  }
}

/** What extensions add to a page, in its language. */
const additionsIn = (additions: readonly Addition[], texts: Readonly<Record<string, string>>): NonNullable<PageFrame['additions']> =>
  additions.map(({ name, place, text, href, values }) => ({
    name,
    place,
    text: filled(texts[text] ?? text, values),
    ...present({ href }),
  }));

/** Bytes of a query that is worth repeating in each link. */
const MAX_QUERY = 2000;

/**
 * How to see this page in another language. A page that a GET request brought about is asked for again; the password page by its form; another
 * page that a form brought about leads back to the sign-in's own. A page that sends itself on has none: asked for again, it would send on twice.
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

/** What stands for a person or a client stays out of documents. */
const credentials = ['id_token_hint', 'login_hint_token', 'sso_token', 'request', 'client_secret', 'client_assertion', 'password'];

/** The query that asks for this page again. A failure stays one: something that is wrong takes the place of a credential there. */
function repeatedQuery(ctx: Context, { page }: PageView): string {
  const query = new URLSearchParams(ctx.querystring);
  query.delete('ui_locales');
  // Whoever is signed out has left: an address in the query of that page is nobody's.
  if (page === 'signed-out') query.delete('post_logout_redirect_uri');
  for (const name of credentials) {
    if (!query.has(name)) continue;
    if (page === 'error') query.set(name, '-');
    else query.delete(name);
  }
  return String(query);
}

/** A step of a sign-in of which nothing more is known. */
const stepPath = /^([\w/.~-]*\/interaction\/[\w-]+)\//;
