/** Routes of an extension: pages, their forms, mailed links, and APIs. */
import type { Context, DefaultState, Middleware } from 'koa';
import type { Awaitable } from '../awaitable.js';
import type { ArtifactKind } from '../store/records/extension-artifacts.js';

/** Adds a route. @param path below the issuer, with parameters as in `/notes/:id` */
export type AddRoute = <State = object>(path: string, ...steps: readonly Middleware<DefaultState & State>[]) => void;

/**
 * The router of an extension. A form that a page posts has no other route than {@link ExtensionRouter.postForm} and {@link ExtensionRouter.linkPages},
 * which check it. There is no `post`, so that no form can do without.
 */
export interface ExtensionRouter {
  /** Adds a route for GET and HEAD. The route must change nothing that matters, because any page can lead a browser to the route. */
  readonly get: AddRoute;
  readonly put: AddRoute;
  readonly patch: AddRoute;
  readonly delete: AddRoute;
  /**
   * Adds the route of a page's form. The route reads the form, and evaluates the form once if it is sent twice with the same content. The route refuses the
   * form while a user is impersonated in this browser. The route checks that the form came from the page of this service, in this browser, about this subject.
   * @example
   * ```ts
   * import { type Context, createOwnPage, type Extension, perContext, redirectByGet, type Text, typedField } from 'tenant-idp/extension';
   *
   * const words = { 'nickname.title': 'Nickname', 'nickname.again': 'Please try again.', 'nickname.save': 'Save' };
   * const pageOf = perContext((context) => createOwnPage(context, 'nickname:page', '/nickname', 'recentSignIn'));
   *
   * export const nickname: Extension = {
   *   name: 'nickname',
   *   // One catalogue for each language; here they are the same.
   *   texts: { en: words, nb: words, sv: words, da: words, fi: words, de: words },
   *   clients: (context) => pageOf(context).clients,
   *   routes(router, context) {
   *     const { pages, service } = context;
   *     const page = pageOf(context);
   *     const show = (ctx: Context, session: string, problem?: Text) =>
   *       pages.view(ctx, {
   *         title: 'nickname.title',
   *         ...(problem !== undefined && { problem, status: 403 }),
   *         form: { action: service.url('/nickname'), subject: session },
   *         parts: [
   *           { part: 'field', name: 'nickname', label: 'nickname.title' },
   *           { part: 'button', text: 'nickname.save' },
   *         ],
   *       });
   *     router.get('/nickname', async (ctx) => {
   *       const here = await page.present(ctx, '/nickname');
   *       if (here) await show(ctx, here.session);
   *     });
   *     router.get('/nickname/return', async (ctx) => redirectByGet(ctx, service.url((await page.returned(ctx)) ?? '/nickname')));
   *     router.postForm('/nickname', {
   *       open: (ctx) => page.present(ctx, '/nickname'),
   *       subject: ({ session }) => session,
   *       again: (ctx, { session }) => show(ctx, session, 'nickname.again'),
   *       take(ctx, { oid }) {
   *         service.logger.info({ oid, nickname: typedField(ctx, 'nickname', 'line') }, 'a nickname');
   *         redirectByGet(ctx, service.url('/nickname'));
   *       },
   *     });
   *   },
   * };
   * ```
   */
  postForm<Opened>(path: string, form: PostForm<Opened>): void;
  /** Adds the routes of a mailed link: GET shows its page, POST takes the form of the page. */
  linkPages<Opened>(pages: LinkPages<Opened>): void;
  /**
   * Adds a route for POST requests that no page of this service sends. The request proves its rights without a cookie: by a bearer token, the
   * authentication of a client, or a signature. The route of another site's form belongs here too.
   */
  readonly postWithoutCsrf: AddRoute;
  /** Adds a route for all methods of a path and of all paths below it, for an API that authenticates each request by something else than a cookie. */
  readonly allWithoutCsrf: AddRoute;
}

/** The form of a page. `Opened` is what the page is about. */
export interface PostForm<Opened> {
  /**
   * Returns what the page is about; undefined once the request was answered. For the page of a person, call `present` of `createOwnPage`, or `signIn.current`: both
   * return complete sign-ins alone. For a step of a sign-in, call `interactions.load`.
   */
  open(ctx: Context): Awaitable<Opened | undefined>;
  /** Returns the subject of the form, as the page names it in `form.subject`: for a step of a sign-in its `uid`. */
  subject(opened: NoInfer<Opened>): string;
  /** Answers a form that came from another browser, another site or another page: shows the page again, with status 403. */
  again(ctx: Context, opened: NoInfer<Opened>): Awaitable<void>;
  /** Evaluates the form, whose fields `formField` returns. */
  take(ctx: Context, opened: NoInfer<Opened>): Awaitable<void>;
  /**
   * Shows the form again because a field is too long. The page repeats what the user typed, except passwords, and states the maximum at the field, with status
   * 400. @default `again`, without its problem
   */
  refill?(ctx: Context, opened: NoInfer<Opened>): Awaitable<void>;
  /**
   * Returns whether the form is evaluated each time that it is sent, because it acts on what is there now. A second submission waits for the first, and does
   * not get its answer. @default false for every form
   */
  isEvaluatedAgain?(ctx: Context): boolean;
  /** Whether the form works while somebody impersonates a user in this browser. @default false: a page says so, with status 403 */
  readonly whileImpersonating?: boolean;
}

/**
 * Outcome of the form of a mailed link. `used`: the link was used, and the browser is redirected to the page that says so. `over`: the link was used
 * elsewhere or has expired, and its page says so. Nothing: the request is answered.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that answered the request returns nothing
export type LinkOutcome = 'used' | 'over' | void;

/** The pages behind a mailed link. `Opened` is the subject of the link. The link cannot be used during an impersonation. */
export interface LinkPages<Opened> {
  /** Below the issuer; `:token` stands for the token of the link. */
  readonly path: string;
  /** Returns the subject of a token; undefined for an unknown token. */
  open(token: string): Awaitable<Opened | undefined>;
  /** Returns the subject of the form, which names the link too. */
  subject(opened: NoInfer<Opened>): string;
  /** Returns whether the link can be used, was used, or is invalid for another reason, such as that the link expired. @default pending */
  state?(opened: NoInfer<Opened>): 'pending' | 'used' | 'over';
  /** Shows the page with the form. The method changes nothing, because mail scanners open links. */
  ask(ctx: Context, opened: NoInfer<Opened>): Awaitable<void>;
  /** Takes the form of a link that can be used. */
  take(ctx: Context, opened: NoInfer<Opened>): Promise<LinkOutcome>;
  /** The page for the browser that used the link, which is remembered by a record of the kind. @default `over` */
  readonly usedHere?: { readonly kind: ArtifactKind; show(ctx: Context, opened: NoInfer<Opened>): Awaitable<void> };
  /** Shows that the link can no longer be used: it expired, was replaced, or was used elsewhere. */
  over?(ctx: Context, opened: NoInfer<Opened>): Awaitable<void>;
  /** Takes the form of the page that `over` shows, such as the button that sends another link. @default shows the page again */
  takeOver?(ctx: Context, opened: NoInfer<Opened>): Awaitable<void>;
  /** Shows that the link is unknown. */
  unknown(ctx: Context): Awaitable<void>;
  /** Answers a form that came from another browser, another site or another page: shows the page again, with status 403. */
  again(ctx: Context, opened: NoInfer<Opened>): Awaitable<void>;
}
