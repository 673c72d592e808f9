/** Section `signIns` of the account page: the recent sign-ins to the account. A child account shows its own sign-ins alone. */
import type { Context } from 'koa';
import {
  type BrowserSignIn,
  createOwnPage,
  type ExtensionContext,
  type OwnPage,
  type RecentSignIn,
  type Text,
  utcTime,
  type ViewPart,
} from '../../lib/extension-door.js';
import { applicationNames, listOfNames } from './application-names.js';
import { browserText } from './browser-text.js';
import { addReturn, type Section } from './section.js';

const pathOf = ({ own }: Pick<ExtensionContext['service'], 'own'>): string => `${own}/account/sign-ins`;
const pageOf = (context: ExtensionContext): OwnPage => createOwnPage(context, 'account:sign-ins', pathOf(context.service));

export const signIns: Section = {
  name: 'signIns',
  group: 'activity',
  isFor: (_, { directory }) => directory.signInHistory.isOn,
  title: 'account.signIns.title',
  summary: 'account.signIns.summary',
  href: ({ service }) => service.url(pathOf(service)),
  clients: (context) => pageOf(context).clients,
  routes(router, context) {
    const path = pathOf(context.service);
    const page = pageOf(context);

    router.get(path, async (ctx: Context) => {
      const here = await page.present(ctx, path);
      if (here) await showList(context, ctx, here);
    });

    addReturn(router, context, page, path, 'account.signIns.title');
  },
};

async function showList(context: ExtensionContext, ctx: Context, { oid, account: { tenant } }: BrowserSignIn): Promise<void> {
  const { pages, directory } = context;
  const recent = await directory.signInHistory.list({ tid: tenant.id, userId: oid });
  const entries = await Promise.all(recent.map((signIn) => entryOf(context, signIn)));
  const sessions = pages.accountSections.find(({ name }) => name === 'sessions')?.href(context);
  await pages.view(ctx, {
    ...(await pages.brandingOf(tenant.id)),
    title: 'account.signIns.title',
    lead: entries.length > 0 ? 'account.signIns.lead' : 'account.signIns.none',
    parts: [
      ...(entries.length > 0 ? [{ part: 'entries', entries } as const] : []),
      ...(sessions === undefined ? [] : [{ part: 'link', text: 'account.signIns.sessions', href: sessions } as const]),
    ],
  });
}

type Entry = Extract<ViewPart, { readonly part: 'entries' }>['entries'][number];

async function entryOf(context: ExtensionContext, signIn: RecentSignIn): Promise<Entry> {
  const { signedInAt, clientId, address, isNewBrowser } = signIn;
  const names = await applicationNames(context, [clientId]);
  return {
    title: titleOf(signIn),
    ...(isNewBrowser && { badge: 'account.signIns.new' }),
    lines: [
      { key: 'account.sessions.since', values: { time: utcTime(signedInAt) } },
      ...wayOf(signIn),
      ...(address === undefined ? [] : [{ key: 'account.sessions.address', values: { address } }]),
      ...(names.length > 0 ? [{ key: 'account.signIns.application', values: { application: listOfNames(names) } }] : []),
    ],
  };
}

/** Returns the title of an entry. An impersonation shows neither the browser nor the name of the support agent. */
function titleOf(signIn: RecentSignIn): Text {
  if (signIn.isImpersonation) return 'account.sessions.support';
  return signIn.grantType === undefined ? browserText(signIn) : 'account.sessions.withoutBrowser';
}

/** Returns the words for the credentials of a sign-in. Empty for methods that this page has no words for. */
function wayOf({ amr, idp, isImpersonation }: RecentSignIn): readonly Text[] {
  if (isImpersonation) return [];
  if (idp !== 'local') return ['account.signIns.withProvider'];
  if (amr.includes('pwd')) return [amr.includes('mfa') ? 'account.signIns.withFactor' : 'account.signIns.withPassword'];
  return amr.includes('pop') ? ['account.signIns.withPasskey'] : [];
}
