/** Pages on which signed-in people change something of their own: each takes a recent sign-in, by the pages and rules of every other. */
import type { Context } from 'koa';
import type { ExtensionContext } from './extension-context.js';
import type { BrowserSignIn } from './sign-in/logout-participant.js';
import type { InternalClients, SignInAsk } from './sign-in/sign-in-request.js';

export interface OwnPage {
  /** The application that people sign in to: for `clients` of the extension. To them it has the name of the host. */
  readonly clients: InternalClients;
  /**
   * Who is signed in here in person. Undefined once something else was shown: a sign-in, or a page that says that nobody does this in the name of
   * somebody else.
   * @param next where the browser is to go on from a sign-in.
   * @param changes whether the sign-in has to be one that {@link OwnPage.mayChange}. @default true
   */
  present(ctx: Context, next: string, changes?: boolean): Promise<BrowserSignIn | undefined>;
  /** Whether somebody signed in here recently enough. */
  isRecent(here: BrowserSignIn): boolean;
  /** Whether the sign-in is recent enough, and proved the second factor of a user who has one. */
  mayChange(here: BrowserSignIn): Promise<boolean>;
  /**
   * Sends the browser to a sign-in. With `here`, to a recent one of that account, with the second factor of a user who has one.
   * @param next comes back with {@link OwnPage.returned}.
   */
  signIn(ctx: Context, next: string, here?: BrowserSignIn, more?: Partial<Omit<SignInAsk, 'client' | 'state'>>): Promise<void>;
  /** Where the browser is to go on from the sign-in; undefined where nobody signed in. To be called at `<path>/return`. */
  returned(ctx: Context): Promise<string | undefined>;
}

/** Member of `ctx.state` that {@link OwnPage.present} sets, so that the page gets the headers of a person's own page. */
export interface OwnPageState {
  isOwnPage?: boolean;
}

/**
 * @param id of the application: the extension's name, a colon, and a name.
 * @param path of the page, below the issuer.
 * @param recentSeconds maximum age of a sign-in that changes something. @default no maximum: the page changes nothing, and takes any complete sign-in
 * @param changesSignIn whether the page changes something of the account, and so asks for the second factor of a user who has one. @default true with `recentSeconds`
 * @example
 * ```ts
 * import { createOwnPage, type Extension, redirectByGet, shownName } from 'tenant-idp/extension';
 *
 * const RECENT_SECONDS = 600;
 * export const nickname: Extension = {
 *   name: 'nickname',
 *   clients: (context) => createOwnPage(context, 'nickname:page', '/nickname', RECENT_SECONDS).clients,
 *   routes(router, context) {
 *     const own = createOwnPage(context, 'nickname:page', '/nickname', RECENT_SECONDS);
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
  { service, signIn: signIns, impersonation }: Pick<ExtensionContext, 'service' | 'signIn' | 'impersonation'>,
  id: string,
  path: string,
  recentSeconds = Number.POSITIVE_INFINITY,
  changesSignIn = Number.isFinite(recentSeconds),
): OwnPage {
  const application = { name: new URL(service.issuer).host, returnTo: `${path}/return` };
  const isProven = async (here: BrowserSignIn): Promise<boolean> => !changesSignIn || signIns.mayChange(here);
  /** Returns the request for a missing proof: a new sign-in if the credential no longer signs in to the account, else a factor. */
  const proofAskedOf = async (here: BrowserSignIn): Promise<Partial<SignInAsk>> => {
    if (await isProven(here)) return {};
    const { account, owner, oid } = here;
    return owner === (account.person.user.parentUserId ?? oid) ? { acrValues: `mfa tenant:${account.tenant.id}` } : { prompt: 'login' };
  };
  const isRecent: OwnPage['isRecent'] = ({ authTime }) => service.now() / 1000 - authTime <= recentSeconds;
  const signIn: OwnPage['signIn'] = async (ctx, next, here, more = {}) =>
    signIns.require(ctx, {
      client: id,
      state: next,
      ...(here && { ...(Number.isFinite(recentSeconds) && { maxAge: recentSeconds }), loginHint: here.account.person.user.userName }),
      ...(here && (await proofAskedOf(here))),
      ...more,
    });
  return {
    clients: { find: (wanted) => (wanted === id ? application : undefined) },
    async present(ctx, next, mustChange = true) {
      const here = await signIns.current(ctx, id);
      if (here && !here.act && (!mustChange || (await this.mayChange(here)))) {
        (ctx.state as OwnPageState).isOwnPage = true;
        return here;
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
  };
}
