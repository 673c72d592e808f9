/** Section `sessions` of the account page: where the user is signed in. The user ends one sign-in, or all others. Neither requires a recent sign-in. */
import { randomUUID } from 'node:crypto';
import type { Context } from 'koa';
import {
  attributionOf,
  type BrowserSignIn,
  createOwnPage,
  type ExtensionContext,
  type ExtensionRouter,
  formField,
  type OwnPage,
  redirectByGet,
  type Text,
  type UserSession,
  utcTime,
  type ViewPart,
} from '../../lib/extension-door.js';
import { applicationNames, listOfNames } from './application-names.js';
import { browserText } from './browser-text.js';
import { addReturn, type Section } from './section.js';
import { timeAgo } from './times.js';

/** Maximum sessions of other browsers that the page shows. */
const MOST = 50;

const pathOf = ({ own }: Pick<ExtensionContext['service'], 'own'>): string => `${own}/account/sessions`;
const pageOf = (context: ExtensionContext): OwnPage => createOwnPage(context, 'account:sessions', pathOf(context.service));
const subjectOf = ({ session }: BrowserSignIn): string => `sessions ${session}`;
const userOf = ({ account: { tenant }, oid }: BrowserSignIn) => ({ tid: tenant.id, userId: oid });

export const sessions: Section = {
  name: 'sessions',
  group: 'activity',
  title: 'account.sessions.title',
  summary: 'account.sessions.summary',
  href: ({ service }) => service.url(pathOf(service)),
  clients: (context) => pageOf(context).clients,
  routes,
};

function routes(router: ExtensionRouter, context: ExtensionContext): void {
  const { service } = context;
  const path = pathOf(service);
  const page = pageOf(context);
  const address = service.url(path);

  router.get(path, async (ctx: Context) => {
    const here = await page.present(ctx, path);
    if (here) await showList(context, ctx, here);
  });

  addReturn(router, context, page, path, 'account.sessions.title');

  router.postForm(path, {
    open: (ctx) => page.present(ctx, path),
    subject: subjectOf,
    isEvaluatedAgain: endsOthers,
    again: (ctx, here) => showList(context, ctx, here, { text: 'account.foreign', status: 403 }),
    async take(ctx, here) {
      redirectByGet(ctx, (await end(context, ctx, here)) ?? address);
    },
  });
}

const endsOthers = (ctx: Context): boolean => formField(ctx, 'others') !== '';

/** Ends the sign-ins that the form names. Returns the URL to continue at, if this browser was signed out. */
async function end({ sessions }: ExtensionContext, ctx: Context, here: BrowserSignIn): Promise<string | undefined> {
  const by = attributionOf(here);
  if (endsOthers(ctx)) {
    // Each submission ends the sign-ins until now, also if a former submission did so.
    await sessions.endOthers(userOf(here), { session: here.session, cause: `account ${randomUUID()}` }, by);
    return undefined;
  }
  const id = formField(ctx, 'session');
  if (id === here.session) return sessions.signOut(ctx, { session: id });
  if (id !== '') await sessions.end(userOf(here), id, by);
  return undefined;
}

async function showList(
  context: ExtensionContext,
  ctx: Context,
  here: BrowserSignIn,
  problem?: { readonly text: Text; readonly status: number },
): Promise<void> {
  const { service, pages } = context;
  const all = await context.sessions.list(userOf(here));
  const others = all.filter(({ id }) => id !== here.session);
  const shown = [...all.filter(({ id }) => id === here.session), ...others.slice(0, MOST)];
  const entries = await Promise.all(shown.map((session) => entryOf(context, session, session.id === here.session)));
  const more: Text = { key: 'account.sessions.more', values: { count: String(MOST) } };
  const hidden: Text | undefined = others.length > MOST ? more : others.length === 0 ? 'account.sessions.alone' : undefined;
  // Also without another session, because a refresh token may outlive the session in which its client got it.
  const ending: readonly ViewPart[] = [
    ...(hidden === undefined ? [] : [{ part: 'text', text: hidden } as const]),
    { part: 'button', text: 'account.sessions.others', name: 'others', value: 'yes', look: 'quiet' },
  ];
  await pages.view(ctx, {
    ...(await pages.brandingOf(here.account.tenant.id)),
    title: 'account.sessions.title',
    lead: 'account.sessions.lead',
    ...(problem && { problem: problem.text, status: problem.status }),
    form: { action: service.url(pathOf(service)), subject: subjectOf(here) },
    parts: [{ part: 'entries', entries }, ...ending],
  });
}

type Entry = Extract<ViewPart, { readonly part: 'entries' }>['entries'][number];

async function entryOf(context: ExtensionContext, session: UserSession, isHere: boolean): Promise<Entry> {
  const { id, signedInAt, lastUsedAt, browser, act, address, clientIds } = session;
  const names = await applicationNames(context, clientIds);
  const time = utcTime(signedInAt);
  const since: Text = { key: 'account.sessions.since', values: { time } };
  return {
    title: titleOf(session),
    ...(isHere && { badge: 'account.sessions.here' }),
    lines: [
      since,
      ...(lastUsedAt && !isHere ? [{ key: 'account.sessions.used', values: { ago: timeAgo(lastUsedAt, context.service.now()) } }] : []),
      // The address of an impersonation is the support agent's.
      ...(address !== undefined && !act ? [{ key: 'account.sessions.address', values: { address } }] : []),
      ...(names.length > 0 ? [{ key: 'account.sessions.applications', values: { applications: listOfNames(names) } }] : []),
    ],
    action: {
      text: 'account.sessions.end',
      about: browser !== undefined && !act ? { key: 'account.sessions.about', values: { browser, time } } : since,
      name: 'session',
      value: id,
    },
  };
}

/** Returns the title of an entry. An impersonation shows neither the browser nor the name of the support agent. */
function titleOf(session: UserSession): Text {
  if (session.act) return 'account.sessions.support';
  return session.inBrowser ? browserText(session) : 'account.sessions.withoutBrowser';
}
