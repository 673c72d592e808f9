/** The routes of connections: answers of providers, the steps of a sign-in that follow, and the key sets of connections. */
import type { Context } from 'koa';
import {
  type ExtensionContext,
  type ExtensionRouter,
  formField,
  IdpError,
  type Interaction,
  type PostForm,
  redirectByGet,
} from '../../lib/extension-door.js';
import { AccountChoice } from './account-choice.js';
import { Answers } from './answers.js';
import { type ConnectionLookup, isActive } from './lookup.js';
import type { ConnectionMethod } from './method.js';
import type { Pages } from './pages.js';
import type { People } from './people/accounts.js';
import { AccountLinking } from './people/linking.js';
import { nextAfter } from './upstream/logout.js';
import type { Providers } from './upstream/provider.js';
import { callbackPath } from './upstream/request.js';
import { publicKeys } from './upstream/secrets.js';

export interface RouteParts {
  readonly context: ExtensionContext;
  readonly lookup: ConnectionLookup;
  readonly providers: Providers;
  readonly people: People;
  readonly pages: Pages;
  readonly method: ConnectionMethod;
}

export function connectionRoutes(router: ExtensionRouter, parts: RouteParts): void {
  const { context, lookup, pages } = parts;
  const { own, url } = context.service;
  const step = `${own}/interaction/:uid`;
  const choice = new AccountChoice(parts);
  const answers = new Answers({ ...parts, choice });
  const linking = new AccountLinking({ ...parts, choice });

  /** Returns the route of a form that is a step of a sign-in. */
  const posted = (take: PostForm<Interaction>['take']): PostForm<Interaction> => ({
    whileImpersonating: true,
    open: (ctx) => context.signIn.interactions.load(ctx),
    subject: ({ uid }) => uid,
    again() {
      throw new IdpError('invalid_request');
    },
    take,
  });

  router.get(callbackPath(own, ':id'), (ctx: Context) => answers.forward(ctx));
  router.postWithoutCsrf(callbackPath(own, ':id'), (ctx: Context) => answers.forwardPosted(ctx));
  router.get(`${step}/connections/:id`, (ctx: Context) => answers.take(ctx));

  router.get(`${own}/connections/return`, (ctx: Context) => linking.returned(ctx));
  router.get(`${step}/connection/link`, context.impersonation.inPerson, (ctx: Context) => linking.ask(ctx));
  const link = posted((ctx, interaction) => linking.take(ctx, interaction));
  router.postForm(`${step}/connection/link`, { ...link, whileImpersonating: false });

  router.postForm(
    `${step}/connection/account`,
    posted((ctx, interaction) => choice.take(ctx, interaction)),
  );
  router.postForm(
    `${step}/connection/again`,
    posted((ctx, interaction) => tryAgain(parts, linking, ctx, interaction)),
  );

  router.get(`${own}/connections/:id/jwks`, async (ctx: Context) => {
    const connection = await lookup.get(String(ctx.params.id));
    if (!connection || connection.keys.length === 0) throw new IdpError('not_found');
    ctx.set('Cache-Control', 'public, max-age=60');
    ctx.type = 'application/jwk-set+json';
    ctx.body = JSON.stringify({ keys: publicKeys(connection) });
  });

  router.get(`${own}/connections/:id/signed-out`, async (ctx: Context) => {
    const next = await nextAfter(context, ctx);
    if (next !== undefined) return redirectByGet(ctx, next);
    // A link alone must not make the service claim to a signed-in user that the user is signed out.
    return (await context.signIn.toEnd(ctx)) ? redirectByGet(ctx, url(`${own}/account`)) : pages.signedOut(ctx);
  });
}

/** Evaluates the form of a refused sign-in: to link the identity, to use another account at the provider, or to try again. */
async function tryAgain(
  { context, lookup, pages, method }: RouteParts,
  linking: AccountLinking,
  ctx: Context,
  interaction: Interaction,
): Promise<void> {
  if (formField(ctx, 'step') === 'link') return linking.begin(ctx, interaction);
  const idp = formField(ctx, 'idp');
  const connection = await lookup.get(idp);
  if (formField(ctx, 'another') === 'yes' && isActive(connection)) return method.send(ctx, interaction, connection, { another: true });
  if (!(await context.signIn.interactions.begin(ctx, interaction, idp))) redirectByGet(ctx, pages.stepUrl(interaction, '?restart=yes'));
}
