/**
 * Routes of the pages on which users answer requests. Only the user of a request sees it, and answers it with a form. GET changes nothing.
 *
 * - To see a request requires a complete sign-in.
 * - To approve it requires a recent complete sign-in of the requested strength.
 * - To deny it, any sign-in of the user is enough, even one that waits for a second factor. The page for it shows nothing about the request.
 */
import type { Context } from 'koa';
import {
  attributionOf,
  type BrowserSignIn,
  createOwnPage,
  type ExtensionContext,
  type ExtensionRouter,
  formField,
  type InternalClients,
  type OwnPage,
  type OwnPageState,
  ownMember,
  present,
  redirectByGet,
  type SignInAsk,
  type SignInToEnd,
} from '../../../lib/extension-door.js';
import type { AuthenticationRequest } from '../requests/record.js';
import { mayAsk, type Requests } from '../requests/requests.js';
import { createPages, formSubject, inboxPath, type Pages, type RequestOfClient } from './pages.js';

/** Id of the application that users sign in to before they answer. */
const PAGE = 'ciba:page';

/** Answers that deny a request. */
const denials: Readonly<Record<string, 'declined' | 'unrecognised'>> = { deny: 'declined', unrecognise: 'unrecognised' };

const pageOf = (context: ExtensionContext): OwnPage => createOwnPage(context, PAGE, inboxPath(context.service), 'recentSignIn');

/** Returns the application that users sign in to before they answer. */
export const createPersonClients = (context: ExtensionContext): InternalClients => pageOf(context).clients;

/** Returns the requirements of a request, as a request for a sign-in. */
function askOf({ acrValues = '', tid, bindingMessage, messageFormat, initiator, uiLocales }: AuthenticationRequest): Partial<SignInAsk> {
  const names = acrValues.split(' ').filter((name) => name !== '' && !name.startsWith('tenant:'));
  return {
    acrValues: [...names, `tenant:${tid}`].join(' '),
    ...present({ uiLocales }),
    eid: {
      eid_call_initiator: initiator,
      ...(bindingMessage === undefined ? {} : { eid_user_visible_data: bindingMessage, eid_user_visible_data_format: messageFormat }),
    },
  };
}

/** A request, and the complete sign-in of its user. */
type Asked = RequestOfClient & { readonly here: BrowserSignIn };

/** A posted form: a denial, for which the user's sign-in may be incomplete, or an answer by a complete sign-in. */
type Posted = { readonly id: string } & (
  | { readonly denial: 'declined' | 'unrecognised'; readonly here: SignInToEnd }
  | { readonly asked: Asked; readonly here: BrowserSignIn }
);

/** Parts that the routes share. */
interface Parts {
  readonly context: ExtensionContext;
  /** The path of the pages, below the issuer. */
  readonly base: string;
  readonly pages: Pages;
  readonly ownPage: OwnPage;
  readonly requests: Requests;
}

export function personRoutes(router: ExtensionRouter, context: ExtensionContext, requests: Requests): void {
  const base = inboxPath(context.service);
  const parts: Parts = { context, base, pages: createPages(context), ownPage: pageOf(context), requests };
  inboxRoutes(router, parts);
  requestRoutes(router, parts);
}

const pathOf = (id: string): string => `/requests/${encodeURIComponent(id)}`;

/** Adds the inbox, and the return from a sign-in. */
function inboxRoutes(router: ExtensionRouter, parts: Parts): void {
  const { context, base, pages, ownPage, requests } = parts;
  const { directory, impersonation, service } = context;

  router.get(base, impersonation.inPerson, async (ctx: Context) => {
    const here = await signedIn(parts, ctx, '');
    if (!here) return;
    const waiting = await requests.pendingOf(here.oid);
    const shown = await Promise.all(
      waiting.map(async (request) => {
        const client = await directory.clients.get(request.clientId);
        return client ? [{ request, client }] : [];
      }),
    );
    await pages.inbox(ctx, here.account, shown.flat());
  });

  router.get(`${base}/return`, async (ctx: Context) => {
    const next = await ownPage.returned(ctx);
    return next === undefined ? pages.unsigned(ctx) : redirectByGet(ctx, service.url(base + next));
  });
}

/** Adds the page of one request and its form. */
function requestRoutes(router: ExtensionRouter, parts: Parts): void {
  const { context, base, pages, ownPage, requests } = parts;
  const {
    http,
    impersonation,
    pages: { scopeDescriptions },
    service,
  } = context;

  router.get(`${base}/requests/:id`, impersonation.inPerson, async (ctx: Context) => {
    const asked = await askedHere(parts, ctx, () => showUnfinished(parts, ctx, String(ctx.params.id)));
    if (!asked) return;
    const { here, request, client } = asked;
    if (request.state !== 'pending') return pages.over(ctx, here.account, asked);
    if (!mayAsk(client, here.account)) return pages.refused(ctx, here.account, asked);
    const [canApprove, missing, descriptions] = await Promise.all([isEnough(parts, asked), missingOf(parts, asked), scopeDescriptions()]);
    await pages.request(ctx, here, {
      request,
      client,
      account: here.account,
      missing: missing.map((name) => ({ name, ...descriptions.get(name) })),
      canApprove,
      isInsufficient: !canApprove && ctx.query.after === 'sign-in',
    });
  });

  /** Starts a sign-in with another account. */
  router.get(`${base}/requests/:id/sign-in`, impersonation.inPerson, async (ctx: Context) => {
    const id = String(ctx.params.id);
    const request = await requests.read(id);
    await ownPage.signIn(ctx, pathOf(id), undefined, { ...(request && askOf(request)), prompt: 'select_account' });
  });

  router.postForm<Posted>(`${base}/requests/:id`, {
    async open(ctx) {
      const id = String(ctx.params.id);
      const denial = ownMember(denials, formField(ctx, 'decision'));
      // An incomplete sign-in is enough to deny.
      const own = denial && (await ofItsPerson(parts, ctx, id));
      if (denial && own) return { id, denial, here: own.here };
      const asked = await askedHere(parts, ctx);
      return asked && { id, asked, here: asked.here };
    },
    subject: ({ id, here }) => formSubject(id, here),
    async again(ctx, posted) {
      const asked = 'asked' in posted ? posted.asked : await askedHere(parts, ctx);
      if (asked) await pages.lost(ctx, asked.here.account, posted.id);
    },
    async take(ctx, posted) {
      const { id } = posted;
      if ('denial' in posted) await requests.deny(id, posted.denial, attributionOf({ oid: posted.here.oid }, http.requestId(ctx)));
      else if (formField(ctx, 'decision') === 'approve' && (await approve(parts, ctx, posted.asked))) return;
      // The page of the request shows its outcome, also if another decision came first.
      redirectByGet(ctx, service.url(base + pathOf(id)));
    },
  });
}

/**
 * Returns the sign-in of the browser in person; undefined after the browser was sent to a sign-in.
 * @param instead called before the browser is sent to a sign-in. If it returns true, it showed a page, and the browser stays.
 */
async function signedIn(
  { context, ownPage }: Parts,
  ctx: Context,
  next: string,
  ask?: Partial<SignInAsk>,
  instead?: () => Promise<boolean>,
): Promise<BrowserSignIn | undefined> {
  const here = await context.signIn.current(ctx, PAGE);
  if (here && !here.act) {
    (ctx.state as OwnPageState).ownPageOf = here.account.person;
    return here;
  }
  if (!(await instead?.())) await ownPage.signIn(ctx, next, undefined, ask);
  return undefined;
}

/** Returns a request and the sign-in of its user, complete or not. Undefined for the sign-in of another user. */
async function ofItsPerson({ context, requests }: Parts, ctx: Context, id: string) {
  const [request, here] = await Promise.all([requests.read(id), context.signIn.toEnd(ctx)]);
  return request && here && !here.act && here.oid === request.oid ? { request, here } : undefined;
}

/** Shows an incomplete sign-in the page on which a pending request can be denied, or the page that confirms a denial. @returns whether a page was shown */
async function showUnfinished(parts: Parts, ctx: Context, id: string): Promise<boolean> {
  const { pages } = parts;
  const own = await ofItsPerson(parts, ctx, id);
  if (!own) return false;
  const { here, request } = own;
  const { state, denial = 'declined' } = request;
  if (state === 'pending') await pages.unfinished(ctx, here, id);
  else if (state === 'denied' && denial !== 'host') await pages.denied(ctx, denial);
  else return false;
  return true;
}

/** Returns the request of the path with the sign-in of its user; undefined after another page was shown. */
async function askedHere(parts: Parts, ctx: Context, instead?: () => Promise<boolean>): Promise<Asked | undefined> {
  const { context, pages, requests } = parts;
  const id = String(ctx.params.id);
  const request = await requests.read(id);
  const here = await signedIn(parts, ctx, pathOf(id), request && askOf(request), instead);
  if (!here) return undefined;
  const client = request && (await context.directory.clients.get(request.clientId));
  if (!request || !client) return void (await pages.gone(ctx, here.account));
  if (request.oid !== here.oid) return void (await pages.other(ctx, here.account, id));
  return { here, request, client };
}

const isEnough = async ({ context, ownPage }: Parts, { here, request, client }: Asked): Promise<boolean> =>
  ownPage.isRecent(here) &&
  (await context.signIn.isSufficient(here.account, here, { client, scopes: request.scopes, acrValues: request.acrValues }));

/** Approves the request if the sign-in is sufficient. @returns whether the browser was sent to a sign-in instead */
async function approve(parts: Parts, ctx: Context, asked: Asked): Promise<boolean> {
  const { context, ownPage, requests } = parts;
  const { consents, means } = context.directory;
  const { here, request, client } = asked;
  const { id } = request;
  if (request.state !== 'pending' || !mayAsk(client, here.account)) return false;
  if (!(await isEnough(parts, asked))) {
    await ownPage.signIn(ctx, `${pathOf(id)}?after=sign-in`, here, askOf(request));
    return true;
  }
  const missing = await missingOf(parts, asked);
  const listed = String(ctx.query.listed ?? '').split(' ');
  // The page is shown again, because it did not list all missing scopes.
  if (missing.some((name) => !listed.includes(name))) return false;
  // The consent is written first, so that a client that redeems the approval immediately finds it.
  if (missing.length > 0) await consents.allow(here.oid, client.id, missing, [], await means.ofSignIn(here, here.account));
  await requests.approve(id, here, attributionOf(here, context.http.requestId(ctx)));
  return false;
}

/** Returns the scopes for which the client needs the user's consent and does not have it. */
async function missingOf(
  { context: { directory } }: Parts,
  { request: { oid, scopes }, client }: RequestOfClient,
): Promise<readonly string[]> {
  if (!client.requireConsent) return [];
  const consent = await directory.consents.get(oid, client.id);
  return scopes.filter((scope) => consent?.scopes.includes(scope) !== true);
}
