/**
 * Pages of extensions for the gallery. Each extension adds a list of its views to this file: `viewsOf` records the views of the extension's
 * pages, and `stateOf` resolves one view.
 */
import { createPages as cibaPages, type Shown } from '../../../extensions/ciba/person/pages.js';
import type { AuthenticationRequest, MessageFormat } from '../../../extensions/ciba/requests/record.js';
import { texts as cibaTexts } from '../../../extensions/ciba/texts/index.js';
import { Pages as ImpersonationPages } from '../../../extensions/impersonation/pages.js';
import type { ImpersonationRow } from '../../../extensions/impersonation/records.js';
import { texts as impersonationTexts } from '../../../extensions/impersonation/texts/index.js';
import { createPages as linkedAccountsPages } from '../../../extensions/linked-accounts/pages.js';
import { texts as linkedAccountsTexts } from '../../../extensions/linked-accounts/texts/index.js';
import { resolveView } from '../../../extensions/sign-in/extension-view.js';
import { locales } from '../../../extensions/sign-in/texts/locale.js';
import type { PageFrame, PageView } from '../../../extensions/sign-in/view-models.js';
import type { Account, Client, ExtensionContext, ExtensionTexts, Interaction, Locale, View } from '../../../lib/extension-door.js';

interface State {
  readonly name: string;
  readonly view: PageView;
  readonly frame: PageFrame;
}

/** Returns an extension's page in a language. */
const stateOf = (name: string, view: View, texts: ExtensionTexts, locale: Locale = 'en'): State => ({
  name,
  view: resolveView(view, { locale, texts: texts[locale] }, { csrf: 'token' }),
  frame: {
    locale,
    tenant: { name: view.tenant?.name ?? 'Acme Industries AS' },
    ...(view.client && { client: { name: view.client.name } }),
  },
});

/** Returns the views of an extension's pages. The pages get a context that shows nothing. */
async function viewsOf<Pages>(
  create: (context: ExtensionContext) => Pages,
  call: (pages: Pages) => readonly Promise<void>[],
): Promise<View[]> {
  const shown: View[] = [];
  const context = {
    service: { own: '/idp', changePassword: true, url: (path: string) => `https://login.example.com${path}`, now: Date.now },
    pages: { view: async (_ctx: unknown, view: View) => void shown.push(view), brandingOf: async () => ({}) },
  };
  await Promise.all(call(create(context as unknown as ExtensionContext)));
  return shown;
}

const account = (id: string, tenantName: string, userName: string): Account =>
  ({
    tenant: { id, name: tenantName },
    person: { id, givenName: 'Alice', familyName: 'Andersen', user: { id, userName } },
  }) as Account;
const acme = account('1', 'Acme Industries AS', 'alice@acme.test');
const globex = account('2', 'Globex', 'alice@globex.test');
const long = account(
  '3',
  'Interkommunales Rechenzentrum für Verwaltungsdigitalisierung',
  'alice.andersen-schwarzenberger@rechenzentrum.test',
);
const ctx = {} as never;

const linked = await viewsOf(linkedAccountsPages, (pages) => [
  pages.list(ctx, acme, [acme], []),
  pages.list(ctx, acme, [acme, globex, long], [globex, long], 'linked'),
  pages.confirm(ctx, '/link/1', acme, globex, [
    { parent: acme, child: globex },
    { parent: globex, child: acme },
  ]),
  pages.unlink(ctx, acme, long),
  pages.refused(ctx, globex, 'tenant'),
  pages.lost(ctx),
]);

const callCentre = { id: 'calls', name: 'Acme Call Centre' } as Client;
const authentication: AuthenticationRequest = {
  id: 'request',
  oid: '1',
  tid: '1',
  clientId: 'calls',
  scopes: ['openid', 'profile', 'orders.read'],
  bindingMessage: 'W4SCT',
  messageFormat: 'plaintext',
  initiator: 'user',
  state: 'pending',
  isPing: false,
  createdAt: new Date(),
  expiresAt: new Date(Date.now() + 120_000),
};
const shown: Shown = { request: authentication, client: callCentre, account: acme, missing: [], canApprove: true };
const formatted = '# Pay **900 NOK**\n## To\n### The *council*\n- for water\n- for \u05d0\u05d1\n\nToday\nor tomorrow';
const overs = (['approved', 'denied', 'replaced', 'expired'] as const).map((state) => ({ ...authentication, state }));
const here = { session: 's' };

const asked = await viewsOf(cibaPages, (pages) => [
  pages.inbox(ctx, acme, []),
  pages.inbox(ctx, long, [shown, { request: authentication, client: { ...callCentre, name: long.tenant.name } }]),
  pages.request(ctx, here, shown),
  pages.request(ctx, here, {
    ...shown,
    request: { ...authentication, bindingMessage: formatted, messageFormat: 'simpleMarkdownV1', initiator: 'RP' },
    account: long,
    missing: [{ name: 'openid' }, { name: 'orders.read', description: 'Read your orders' }],
    canApprove: false,
    isInsufficient: true,
  }),
  pages.request(ctx, here, { ...shown, request: (({ bindingMessage: _, ...rest }) => rest)(authentication) }),
  ...overs.map((request) => pages.over(ctx, acme, { request, client: callCentre })),
  ...(['unrecognised', 'host'] as const).map((denial) =>
    pages.over(ctx, acme, { request: { ...authentication, state: 'denied', denial }, client: callCentre }),
  ),
  pages.refused(ctx, acme, { client: callCentre }),
  pages.gone(ctx, acme),
  pages.other(ctx, globex, 'request'),
  pages.lost(ctx, acme, 'request'),
  pages.unsigned(ctx),
]);

/** Returns the page of a request with a message, for `servePages`. */
export async function cibaRequestPage({ message, format, name }: { message: string; format: MessageFormat; name: string }): Promise<State> {
  const [view] = await viewsOf(cibaPages, (pages) => [
    pages.request(ctx, here, { ...shown, request: { ...authentication, bindingMessage: message, messageFormat: format } }),
  ]);
  if (!view) throw new TypeError('the request has no page');
  return stateOf(name, view, cibaTexts);
}

/** States of the pages of CIBA. The state with the most parts is in German, because German has long words. */
const cibaStates = asked.map((view, at) => stateOf(`ciba-${at + 1}`, view, cibaTexts, at === 3 ? 'de' : 'en'));

const step = { uid: 'uid' } as Interaction;
const bounds = { characters: 500, minutes: 30 };
const typed = { reason: 'x'.repeat(600), minutes: '31' };
const row = { startedAt: new Date(0), endsAt: new Date(1_800_000) } as ImpersonationRow;
const impersonation = await viewsOf(
  (context) => new ImpersonationPages(context),
  (pages) => [
    pages.tenants(ctx, step, [acme, long]),
    pages.who(ctx, step, acme, { query: '', found: { users: [] } }),
    pages.who(ctx, step, long, { query: 'al', found: { users: [acme, globex, long], next: 'next' } }),
    pages.why(ctx, step, long, { reason: '', minutes: '30' }, bounds),
    pages.why(ctx, step, acme, typed, bounds, { reason: true, minutes: true }),
    pages.again(ctx, step, long),
    pages.here(ctx, row, long, acme, { subject: 'subject', fields: {} }),
    pages.none(ctx, 'https://shop.example.com/'),
  ],
);

export const galleryOfExtensions: readonly State[] = [
  ...cibaStates,
  ...linked.map((view, at) => stateOf(`linked-accounts-${at + 1}`, view, linkedAccountsTexts, at === 1 ? 'de' : 'en')),
  ...impersonation.map((view, at) => stateOf(`impersonation-${at + 1}`, view, impersonationTexts, at % 2 === 0 ? 'fi' : 'en')),
];

/** The pages with facts, in each language. */
export const pagesWithFacts: readonly State[] = (
  [
    ['ciba', asked, cibaTexts],
    ['linked-accounts', linked, linkedAccountsTexts],
    ['impersonation', impersonation, impersonationTexts],
  ] as const
).flatMap(([extension, views, texts]) =>
  views
    .filter(({ parts }) => parts.some(({ part }) => part === 'facts'))
    .flatMap((view, at) => locales.map((locale) => stateOf(`${extension}-${at + 1}-${locale}`, view, texts, locale))),
);
