/**
 * The pages on which people answer requests. A request is shown to its person alone, and answered by a form. GET changes nothing.
 *
 * - Looking at a request takes a complete sign-in.
 * - Approving takes a recent complete sign-in of the strength that the request asks for.
 * - Denying takes any sign-in of the person, also one that waits for a second factor. The page for it shows nothing of the request.
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

/** How long ago a sign-in may be that approves, in seconds. */
const RECENT_SECONDS = 600;

/** The application that people sign in to for an answer, by its id. */
const PAGE = 'ciba:page';

/** Answers that give nothing. */
const denials: Readonly<Record<string, 'declined' | 'unrecognised'>> = { deny: 'declined', unrecognise: 'unrecognised' };

const pageOf = (context: ExtensionContext): OwnPage => createOwnPage(context, PAGE, inboxPath(context.service), RECENT_SECONDS, false);

/** The application that people sign in to for an answer. */
export const createPersonClients = (context: ExtensionContext): InternalClients => pageOf(context).clients;

/** What the answer takes, as a sign-in is asked for it. */
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

/** A request, and the complete sign-in of its person. */
type Asked = RequestOfClient & { readonly here: BrowserSignIn };

/** The form of a request: a denial by a sign-in of its person that may be incomplete, or an answer by a complete one. */
type Posted = { readonly id: string } & (
  | { readonly denial: 'declined' | 'unrecognised'; readonly here: SignInToEnd }
  | { readonly asked: Asked; readonly here: BrowserSignIn }
);

/** What the routes are made of. */
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

/** The list of a person's requests, and the way back from a sign-in. */
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

/** One request: its page, and its form. */
function requestRoutes(router: ExtensionRouter, parts: Parts): void {
  const { context, base, pages, ownPage, requests } = parts;
  const { http, impersonation, pages: words, service } = context;

  router.get(`${base}/requests/:id`, impersonation.inPerson, async (ctx: Context) => {
    const asked = await askedHere(parts, ctx, () => showUnfinished(parts, ctx, String(ctx.params.id)));
    if (!asked) return;
    const { here, request, client } = asked;
    if (request.state !== 'pending') return pages.over(ctx, here.account, asked);
    if (!mayAsk(client, here.account)) return pages.refused(ctx, here.account, asked);
    const [canApprove, missing, descriptions] = await Promise.all([
      isEnough(parts, asked),
      missingOf(parts, asked),
      words.scopeDescriptions(),
    ]);
    await pages.request(ctx, here, {
      request,
      client,
      account: here.account,
      missing: missing.map((name) => ({ name, ...descriptions.get(name) })),
      canApprove,
      isInsufficient: !canApprove && ctx.query.after === 'sign-in',
    });
  });

  /** For who is signed in as somebody else. */
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
      // Its page tells what became of it, whoever was first.
      redirectByGet(ctx, service.url(base + pathOf(id)));
    },
  });
}

/**
 * Who is signed in here, in person; undefined once the browser was sent to sign in.
 * @param instead of that; answers whether it showed a page.
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
    (ctx.state as OwnPageState).isOwnPage = true;
    return here;
  }
  if (!(await instead?.())) await ownPage.signIn(ctx, next, undefined, ask);
  return undefined;
}

/** The request of an id and the sign-in of its person, complete or not. Undefined for the sign-in of somebody else. */
async function ofItsPerson({ context, requests }: Parts, ctx: Context, id: string) {
  const [request, here] = await Promise.all([requests.read(id), context.signIn.toEnd(ctx)]);
  return request && here && !here.act && here.oid === request.oid ? { request, here } : undefined;
}

/** Shows an incomplete sign-in the page that denies a pending request, or that confirms a denial. @returns whether a page was shown */
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

/** The request of the path with who it asks; undefined once something else was shown. */
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

/** Approves the request, if the sign-in is enough for it. @returns whether the browser was sent to a sign-in instead */
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
  // Its page is shown again: it did not list all that is to be allowed.
  if (missing.some((name) => !listed.includes(name))) return false;
  // Before the approval, so that a client that redeems it immediately finds the consent.
  if (missing.length > 0) await consents.allow(here.oid, client.id, missing, [], await means.ofSignIn(here, here.account));
  await requests.approve(id, here, attributionOf(here, context.http.requestId(ctx)));
  return false;
}

/** Scopes that the person has not allowed a client that needs it. */
async function missingOf(
  { context: { directory } }: Parts,
  { request: { oid, scopes }, client }: RequestOfClient,
): Promise<readonly string[]> {
  if (!client.requireConsent) return [];
  const consent = await directory.consents.get(oid, client.id);
  return scopes.filter((scope) => consent?.scopes.includes(scope) !== true);
}
