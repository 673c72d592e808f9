/**
 * Pages of extensions for the gallery. An extension adds a list here, of views as it shows them: `viewsOf` catches what its pages show, `stateOf` draws
 * one view.
 */
import { createPages as linkedAccountsPages } from '../../../extensions/linked-accounts/pages.js';
import { texts as linkedAccountsTexts } from '../../../extensions/linked-accounts/texts/index.js';
import { resolveView } from '../../../extensions/sign-in/extension-view.js';
import type { PageFrame, PageView } from '../../../extensions/sign-in/view-models.js';
import type { Account, ExtensionContext, ExtensionTexts, Locale, View } from '../../../lib/extension-door.js';

interface State {
  readonly name: string;
  readonly view: PageView;
  readonly frame: PageFrame;
}

/** A page as an extension shows it, in a language. */
const stateOf = (name: string, view: View, texts: ExtensionTexts, locale: Locale = 'en'): State => ({
  name,
  view: resolveView(view, texts[locale], { csrf: 'token' }),
  frame: { locale, tenant: { name: view.tenant?.name ?? 'Acme Industries AS' } },
});

/** What the pages of an extension show when they are called with a context that shows nothing. */
async function viewsOf<Pages>(
  create: (context: ExtensionContext) => Pages,
  call: (pages: Pages) => readonly Promise<void>[],
): Promise<View[]> {
  const shown: View[] = [];
  const context = {
    own: '/idp',
    url: (path: string) => `https://login.example.com${path}`,
    view: async (_ctx: unknown, view: View) => void shown.push(view),
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

export const galleryOfExtensions: readonly State[] = [
  ...linked.map((view, at) => stateOf(`linked-accounts-${at + 1}`, view, linkedAccountsTexts, at === 1 ? 'de' : 'en')),
];
