/** Pages on which signed-in users see and change data of their accounts. All pages follow the same rules about the sign-in that they need. */
import type { Context } from 'koa';
import type { Person } from '../store/records/records.js';
import type { ExtensionContext } from './extension-context.js';
import type { Text } from './pages/view.js';
import type { BrowserSignIn } from './sign-in/logout-participant.js';
import type { InternalClients, SignInAsk } from './sign-in/sign-in-request.js';

/** Maximum age in seconds of a recent sign-in. Pages that change something need a recent sign-in. */
export const RECENT_SIGN_IN_SECONDS = 600;

/**
 * The sign-in that a page needs. An impersonator's sign-in is never enough.
 * - `signIn`: a complete sign-in of any age.
 * - `recentSignIn`: a complete sign-in of the last ten minutes.
 * - `credentialChange`: a complete sign-in of the last ten minutes, with the second factor if the user has one. Pages that add, remove or change a credential
 *   or an address need this sign-in.
 */
export type OwnPageNeeds = 'signIn' | 'recentSignIn' | 'credentialChange';

/** Parts of a page on which signed-in users see or change data of their accounts. */
export interface OwnPage {
  /** The internal client that users sign in to, for `clients` of the extension. Pages call the internal client “your account”. */
  readonly clients: InternalClients;
  /**
   * Returns the sign-in of the user. Undefined if the browser got another page instead: a sign-in, the page for impersonators, or the page about too many
   * forms.
   * @param next path to return to after a sign-in.
   * @param changes whether the sign-in has to pass {@link OwnPage.mayChange}. `false` for a route that only shows something. @default true
   */
  present(ctx: Context, next: string, changes?: boolean): Promise<BrowserSignIn | undefined>;
  /** Returns whether the sign-in is as recent as the page needs it. */
  isRecent(here: BrowserSignIn): boolean;
  /** Returns whether the sign-in meets the page's {@link OwnPageNeeds}. */
  mayChange(here: BrowserSignIn): Promise<boolean>;
  /**
   * Sends the browser to a sign-in. With `here`, the sign-in must be by the same account, and meet the page's {@link OwnPageNeeds}. A page that ends the
   * other sign-ins of its user spares the session of the browser (`sessions.endOthers`). The page cannot sign the browser in again, because a cut-off by
   * another actor has to end the session too.
   * @param next path that {@link OwnPage.returned} returns.
   */
  signIn(ctx: Context, next: string, here?: BrowserSignIn, more?: Partial<Omit<SignInAsk, 'client' | 'state' | 'signIn'>>): Promise<void>;
  /** Returns the path to continue at after the sign-in; undefined if the user did not sign in. Call this method at `<path>/return`. */
  returned(ctx: Context): Promise<string | undefined>;
  /**
   * Returns the URL to redirect to after a form, with a notice of what the form has done. Only this browser and this account get the notice, so that a link
   * of a stranger cannot make the page confirm what was not done.
   * @param notice name of the text that the page shows.
   */
  withNotice(ctx: Context, here: Pick<BrowserSignIn, 'oid'>, url: string, notice: string): string;
  /** Returns the notice of {@link OwnPage.withNotice} in the URL of the request; undefined if this browser did not get the URL after a form. */
  noticeIn(ctx: Context, here: Pick<BrowserSignIn, 'oid'>): string | undefined;
}

/**
 * Member of `ctx.state` that {@link OwnPage.present} sets: the person whose data the page shows. The page gets the headers of an own page, and the language
 * of the person.
 */
export interface OwnPageState {
  ownPageOf?: Pick<Person, 'locale'>;
}

/**
 * Creates the parts of a page on which users see or change data of their accounts.
 * @param id of the internal client: the extension's name, a colon, and a name.
 * @param path of the page, below the issuer.
 * @param needs the sign-in that the page needs. @default 'signIn'
 * @example
 * ```ts
 * import { createOwnPage, type Extension, redirectByGet, shownName } from 'tenant-idp/extension';
 *
 * export const nickname: Extension = {
 *   name: 'nickname',
 *   clients: (context) => createOwnPage(context, 'nickname:page', '/nickname', 'recentSignIn').clients,
 *   routes(router, context) {
 *     const own = createOwnPage(context, 'nickname:page', '/nickname', 'recentSignIn');
 *     router.get('/nickname', async (ctx) => {
 *       const here = await own.present(ctx, '/nickname');
 *       if (here) ctx.body = `You are ${shownName(here.account.person)}.`;
 *     });
 *     router.get('/nickname/return', async (ctx) => redirectByGet(ctx, context.service.url((await own.returned(ctx)) ?? '/nickname')));
 *   },
 * };
 * ```
 */
export function createOwnPage(
  {
    service,
    http,
    signIn: signIns,
    impersonation,
    limits,
    pages,
  }: Pick<ExtensionContext, 'service' | 'http' | 'signIn' | 'impersonation' | 'limits' | 'pages'>,
  id: string,
  path: string,
  needs: OwnPageNeeds = 'signIn',
): OwnPage {
  const application = { returnTo: `${path}/return`, isPage: true };
  const isProven = async (here: BrowserSignIn): Promise<boolean> => needs !== 'credentialChange' || signIns.mayChange(here);
  /** Returns the request for a missing proof: a new sign-in if the credential no longer signs in to the account, else a second factor. */
  const proofAskedOf = async (here: BrowserSignIn): Promise<Pick<SignInAsk, 'acrValues' | 'prompt'>> => {
    if (await isProven(here)) return {};
    const { account, owner, oid } = here;
    return owner === (account.person.user.parentUserId ?? oid) ? { acrValues: `mfa tenant:${account.tenant.id}` } : { prompt: 'login' };
  };
  const isRecent: OwnPage['isRecent'] = ({ authTime }) => needs === 'signIn' || service.now() / 1000 - authTime <= RECENT_SIGN_IN_SECONDS;
  const signIn: OwnPage['signIn'] = async (ctx, next, here, more = {}) =>
    signIns.require(ctx, {
      client: id,
      state: next,
      ...(here && { ...(needs !== 'signIn' && { maxAge: RECENT_SIGN_IN_SECONDS }), loginHint: here.account.person.user.userName }),
      ...(here && (await proofAskedOf(here))),
      ...more,
    });
  const noticeSubject = (notice: string, { oid }: Pick<BrowserSignIn, 'oid'>): string => `${id} notice ${notice} ${oid}`;
  const forms = limits.limit('ownForms');
  /** Counts a form, because a form may queue events, deliveries and mails. Returns whether the page about too many forms was shown. */
  const isRefused = async (ctx: Context, { oid, session, account: { tenant } }: BrowserSignIn): Promise<boolean> => {
    if (ctx.method !== 'POST') return false;
    // Counts by session, so that an attacker with another session of the user cannot keep the user from these pages.
    const counted = await forms.attempt(oid, session);
    if (!counted.isOver) return false;
    ctx.set('Retry-After', String(counted.seconds));
    const text: Text = { key: 'sign-in.often.text', values: { minutes: String(counted.minutes) } };
    await pages.view(ctx, { tenant, title: 'sign-in.often.title', status: 429, parts: [{ part: 'text', text }] });
    return true;
  };
  return {
    clients: { find: (wanted) => (wanted === id ? application : undefined) },
    async present(ctx, next, mustChange = true) {
      const here = await signIns.current(ctx, id);
      if (here && !here.act && (!mustChange || (await this.mayChange(here)))) {
        (ctx.state as OwnPageState).ownPageOf = here.account.person;
        return (await isRefused(ctx, here)) ? undefined : here;
      }
      await impersonation.inPerson(ctx, () => signIn(ctx, next, here));
      return undefined;
    },
    isRecent,
    mayChange: async (here) => isRecent(here) && isProven(here),
    signIn,
    async returned(ctx) {
      const answer = await signIns.answer(ctx);
      return answer && 'signedIn' in answer ? answer.state : undefined;
    },
    withNotice: (ctx, here, url, notice) => `${url}?done=${notice}.${http.csrf.token(ctx, noticeSubject(notice, here))}`,
    noticeIn(ctx, here) {
      const [notice = '', token] = String(ctx.query.done).split('.');
      return http.csrf.check(ctx, noticeSubject(notice, here), token) ? notice : undefined;
    },
  };
}
