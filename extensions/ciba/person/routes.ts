/**
 * The pages on which people answer requests. A request is shown to its person alone, and answered by a form. GET changes nothing.
 *
 * - Looking at a request takes a complete sign-in.
 * - Approving takes a recent complete sign-in of the strength that the request asks for.
 * - Denying takes any sign-in of the person, also one that waits for a second factor. The page for it shows nothing of the request.
 */
import type { Context } from 'koa';
import {
  type Attribution,
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
import { type AskedBy, createPages, formSubject, inboxPath } from './pages.js';

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

type Asked = AskedBy & { readonly here: BrowserSignIn };

/** The form of a request: a denial by a sign-in of its person that may be incomplete, or an answer by a complete one. */
type Posted = { readonly id: string } & (
  | { readonly denial: 'declined' | 'unrecognised'; readonly here: SignInToEnd }
  | { readonly asked: Asked; readonly here: BrowserSignIn }
);

export function personRoutes(router: ExtensionRouter, context: ExtensionContext, requests: Requests): void {
  const {
    service: { url },
    directory,
    impersonation: { inPerson },
    signIn,
    http: { requestId },
    pages: { scopeDescriptions },
  } = context;
  const base = inboxPath(context.service);
  const pages = createPages(context);
  const ownPage = pageOf(context);
  const pathOf = (id: string): string => `/requests/${encodeURIComponent(id)}`;

  /**
   * Who is signed in here, in person; undefined once the browser was sent to sign in.
   * @param instead of that; answers whether it showed a page.
   */
  async function present(
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

  const attribution = (ctx: Context, { oid }: Pick<BrowserSignIn, 'oid'>): Attribution => ({
    actor: `user:${oid}`,
    requestId: requestId(ctx),
  });

  /** The request of an id and the sign-in of its person, complete or not. Undefined for the sign-in of somebody else. */
  async function ofItsPerson(ctx: Context, id: string) {
    const [request, here] = await Promise.all([requests.read(id), signIn.toEnd(ctx)]);
    return request && here && !here.act && here.oid === request.oid ? { request, here } : undefined;
  }

  /** Shows an incomplete sign-in the page that denies a pending request, or that confirms a denial. @returns whether a page was shown */
  async function unfinished(ctx: Context, id: string): Promise<boolean> {
    const found = await ofItsPerson(ctx, id);
    if (!found) return false;
    const { here, request } = found;
    const { state, denial = 'declined' } = request;
    if (state === 'pending') await pages.unfinished(ctx, here, id);
    else if (state === 'denied' && denial !== 'host') await pages.denied(ctx, denial);
    else return false;
    return true;
  }

  /** The request of the path with who it asks; undefined once something else was shown. */
  async function asked(ctx: Context, instead?: () => Promise<boolean>): Promise<Asked | undefined> {
    const id = String(ctx.params.id);
    const request = await requests.read(id);
    const here = await present(ctx, pathOf(id), request && askOf(request), instead);
    if (!here) return undefined;
    const client = request && (await directory.clients.get(request.clientId));
    if (!request || !client) return void (await pages.gone(ctx, here.account));
    if (request.oid !== here.oid) return void (await pages.other(ctx, here.account, id));
    return { here, request, client };
  }

  const isEnough = async ({ here, request, client }: Asked): Promise<boolean> =>
    ownPage.isRecent(here) &&
    (await signIn.isSufficient(here.account, here, { client, scopes: request.scopes, acrValues: request.acrValues }));

  /** Approves the request, if the sign-in is enough for it. @returns whether the browser was sent to a sign-in instead */
  async function approve(ctx: Context, found: Asked): Promise<boolean> {
    const { here, request, client } = found;
    const { id } = request;
    if (request.state !== 'pending' || !mayAsk(client, here.account)) return false;
    if (!(await isEnough(found))) {
      await ownPage.signIn(ctx, `${pathOf(id)}?after=sign-in`, here, askOf(request));
      return true;
    }
    const missing = await missingOf(found);
    const listed = String(ctx.query.listed ?? '').split(' ');
    // Its page is shown again: it did not list all that is to be allowed.
    if (missing.some((name) => !listed.includes(name))) return false;
    // Before the approval, so that a client that redeems it immediately finds the consent.
    if (missing.length > 0)
      await directory.consents.allow(here.oid, client.id, missing, [], await directory.means.ofSignIn(here, here.account));
    await requests.approve(id, here, attribution(ctx, here));
    return false;
  }

  /** Scopes that the person has not allowed a client that needs it. */
  async function missingOf({ request: { oid, scopes }, client }: AskedBy): Promise<readonly string[]> {
    if (!client.requireConsent) return [];
    const consent = await directory.consents.get(oid, client.id);
    return scopes.filter((scope) => consent?.scopes.includes(scope) !== true);
  }

  router.get(base, inPerson, async (ctx: Context) => {
    const here = await present(ctx, '');
    if (!here) return;
    const waiting = await requests.pendingOf(here.oid);
    const found = await Promise.all(
      waiting.map(async (request) => {
        const client = await directory.clients.get(request.clientId);
        return client ? [{ request, client }] : [];
      }),
    );
    await pages.inbox(ctx, here.account, found.flat());
  });

  router.get(`${base}/return`, async (ctx: Context) => {
    const next = await ownPage.returned(ctx);
    return next === undefined ? pages.unsigned(ctx) : redirectByGet(ctx, url(base + next));
  });

  router.get(`${base}/requests/:id`, inPerson, async (ctx: Context) => {
    const found = await asked(ctx, () => unfinished(ctx, String(ctx.params.id)));
    if (!found) return;
    const { here, request, client } = found;
    if (request.state !== 'pending') return pages.over(ctx, here.account, found);
    if (!mayAsk(client, here.account)) return pages.refused(ctx, here.account, found);
    const [canApprove, missing, words] = await Promise.all([isEnough(found), missingOf(found), scopeDescriptions()]);
    await pages.request(ctx, here, {
      request,
      client,
      account: here.account,
      missing: missing.map((name) => ({ name, ...words.get(name) })),
      canApprove,
      isInsufficient: !canApprove && ctx.query.after === 'sign-in',
    });
  });

  /** For who is signed in as somebody else. */
  router.get(`${base}/requests/:id/sign-in`, inPerson, async (ctx: Context) => {
    const id = String(ctx.params.id);
    const request = await requests.read(id);
    await ownPage.signIn(ctx, pathOf(id), undefined, { ...(request && askOf(request)), prompt: 'select_account' });
  });

  router.postForm<Posted>(`${base}/requests/:id`, {
    async open(ctx) {
      const id = String(ctx.params.id);
      const denial = ownMember(denials, formField(ctx, 'decision'));
      // An incomplete sign-in is enough to deny.
      const own = denial && (await ofItsPerson(ctx, id));
      if (denial && own) return { id, denial, here: own.here };
      const found = await asked(ctx);
      return found && { id, asked: found, here: found.here };
    },
    subject: ({ id, here }) => formSubject(id, here),
    async again(ctx, posted) {
      const found = 'asked' in posted ? posted.asked : await asked(ctx);
      if (found) await pages.lost(ctx, found.here.account, posted.id);
    },
    async take(ctx, posted) {
      const { id } = posted;
      if ('denial' in posted) await requests.deny(id, posted.denial, attribution(ctx, posted.here));
      else if (formField(ctx, 'decision') === 'approve' && (await approve(ctx, posted.asked))) return;
      // Its page tells what became of it, whoever was first.
      redirectByGet(ctx, url(base + pathOf(id)));
    },
  });
}
