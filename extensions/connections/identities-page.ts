/** The page of the person's own identities at other providers: the list, and the removal, which requires a sign-in within the last ten minutes. */
import { createHash } from 'node:crypto';
import type { Context } from 'koa';
import {
  attributionOf,
  type BrowserSignIn,
  createOwnPage,
  type ExtensionContext,
  type ExtensionRouter,
  type ExternalIdentity,
  formField,
  IdpError,
  type InternalClients,
  type OwnPage,
  redirectByGet,
  type Text,
  type View,
} from '../../lib/extension-door.js';
import type { ConnectionLookup } from './lookup.js';

export const identitiesPath = ({ own }: Pick<ExtensionContext['service'], 'own'>): string => `${own}/identities`;
const pageOf = (context: ExtensionContext): OwnPage =>
  createOwnPage(context, 'connections:identities', identitiesPath(context.service), 'credentialChange');

/** Creates the internal client that the person signs in to. */
export const createIdentityClients = (context: ExtensionContext): InternalClients => pageOf(context).clients;

/** Returns a digest that names an identity in a form, because a subject may have 1000 characters. */
const nameOf = ({ idp, subject }: ExternalIdentity): string =>
  createHash('sha256')
    .update(JSON.stringify([idp, subject]))
    .digest('base64url');

/**
 * Returns whether the person may remove an identity. The last identity of the connection of this sign-in stays, because it may be the only way to sign in.
 * A sign-in by another way proves that another way exists.
 */
const isRemovable = ({ idp, account }: BrowserSignIn, identity: ExternalIdentity): boolean =>
  identity.idp !== idp || account.person.user.externalIdentities.some((one) => one.idp === idp && one.subject !== identity.subject);

const subjectOf = ({ session }: BrowserSignIn): string => `identities ${session}`;

function createPages({ service, pages: { view, brandingOf } }: ExtensionContext, lookup: ConnectionLookup) {
  const action = service.url(identitiesPath(service));

  const page = async (ctx: Context, here: BrowserSignIn, model: Omit<View, 'form' | 'title'>): Promise<void> =>
    view(ctx, {
      ...(await brandingOf(here.account.tenant.id)),
      title: 'connections.own.title',
      form: { action, subject: subjectOf(here) },
      ...model,
    });

  const titleOf = async ({ idp }: ExternalIdentity): Promise<Text> => ({ plain: (await lookup.get(idp))?.name ?? idp });

  return {
    async list(ctx: Context, here: BrowserSignIn, problem?: { readonly text: Text; readonly status: number }): Promise<void> {
      const entries = await Promise.all(
        here.account.person.user.externalIdentities.map(async (identity) => {
          const title = await titleOf(identity);
          const line: Text = { plain: identity.subject };
          if (!isRemovable(here, identity)) return { title, lines: [line, 'connections.own.inUse'] };
          return {
            title,
            lines: [line],
            action: { text: 'connections.own.remove', about: title, name: 'remove', value: nameOf(identity) },
          };
        }),
      );
      await page(ctx, here, {
        lead: entries.length > 0 ? 'connections.own.lead' : 'connections.own.none',
        ...(problem ? { problem: problem.text, status: problem.status } : {}),
        parts: entries.length > 0 ? [{ part: 'entries', entries }] : [],
      });
    },

    ask: async (ctx: Context, here: BrowserSignIn, identity: ExternalIdentity): Promise<void> =>
      page(ctx, here, {
        lead: await titleOf(identity),
        parts: [
          { part: 'text', text: 'connections.own.ends' },
          { part: 'button', text: 'connections.own.remove', name: 'removed', value: nameOf(identity) },
          { part: 'link', text: 'connections.own.back', href: action },
        ],
      }),

    signedOut: (ctx: Context): Promise<void> =>
      view(ctx, {
        title: 'connections.own.title',
        problem: 'connections.own.signedOut',
        status: 403,
        parts: [{ part: 'link', text: 'connections.again', href: action }],
      }),
  };
}

export function identityRoutes(router: ExtensionRouter, context: ExtensionContext, lookup: ConnectionLookup): void {
  const {
    service: { url },
    directory,
  } = context;
  const path = identitiesPath(context.service);
  const ownPage = pageOf(context);
  const { list, ask, signedOut } = createPages(context, lookup);

  /** Removes the identity and ends every sign-in of the user. Then signs in this browser again, because its sign-in is recent. */
  async function remove(ctx: Context, here: BrowserSignIn, identity: ExternalIdentity): Promise<void> {
    const { oid, amr, idp, used, account: before } = here;
    await directory.as(attributionOf(here)).forTenant(before.tenant.id).users.removeIdentity(oid, identity);
    const account = await directory.accounts.findByOid(oid);
    if (!account) throw new IdpError('not_found');
    const proof = await directory.credentials.proofOf(account);
    await ownPage.signIn(ctx, path, undefined, {
      prompt: 'login',
      loginHint: account.person.user.userName,
      signIn: { oid, amr, idp, ...(used !== undefined && { used }), proof },
    });
  }

  router.get(`${path}/return`, async (ctx: Context) => {
    const next = await ownPage.returned(ctx);
    return next === undefined ? signedOut(ctx) : redirectByGet(ctx, url(next));
  });

  router.get(path, async (ctx: Context) => {
    const here = await ownPage.present(ctx, path);
    if (here) await list(ctx, here);
  });

  router.postForm(path, {
    open: (ctx) => ownPage.present(ctx, path),
    subject: subjectOf,
    again: (ctx, here) => list(ctx, here, { text: 'connections.own.foreign', status: 403 }),
    async take(ctx, here) {
      const wanted = formField(ctx, 'remove') || formField(ctx, 'removed');
      const identity = here.account.person.user.externalIdentities.find((one) => nameOf(one) === wanted && isRemovable(here, one));
      if (!identity) return redirectByGet(ctx, url(path));
      if (formField(ctx, 'removed') === '') return ask(ctx, here, identity);
      await remove(ctx, here, identity);
    },
  });
}
