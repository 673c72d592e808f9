/**
 * Routes of the page of linked accounts. To link two accounts, a user proves both accounts. The sign-in that starts the account link proves the first
 * account. A later sign-in proves the other account. Both accounts may end the account link: the parent account, whose credentials sign in to both, and the
 * child account.
 */
import type { Context } from 'koa';
import {
  type Account,
  attributionOf,
  type BrowserSignIn,
  type ExtensionContext,
  type ExtensionRouter,
  formField,
  IdpError,
  redirectByGet,
  type Voucher,
  weaker,
} from '../../lib/extension-door.js';
import { createLinkRequests, pageOf } from './link-request.js';
import { createPages, subjects } from './pages.js';
import { idOf, pairingsOf } from './pairing.js';

/** The two proven accounts of an account link, and the voucher of both sign-ins. */
interface Both {
  readonly one: Account;
  readonly other: Account;
  readonly vouchedBy: Voucher | undefined;
}

/** A child account whose account link the signed-in user may end. */
interface Ending {
  readonly here: BrowserSignIn;
  readonly child: Account;
}

type Parts = ReturnType<typeof createParts>;

function createParts(context: ExtensionContext) {
  const path = `${context.service.own}/linked-accounts`;
  return {
    context,
    path,
    base: context.service.url(path),
    pages: createPages(context),
    requests: createLinkRequests(context),
    ownPage: pageOf(context),
  };
}

export function linkedAccountRoutes(router: ExtensionRouter, context: ExtensionContext): void {
  const parts = createParts(context);
  listRoutes(router, parts);
  linkRoutes(router, parts);
  unlinkRoutes(router, parts);
}

const confirmOf = (link: string): string => `/confirm?${new URLSearchParams({ link })}`;
const linkOf = (ctx: Context): string => String(ctx.query.link);
const isEndable = (here: Account, { person: { user } }: Account): boolean =>
  user.parentUserId !== undefined && (user.parentUserId === idOf(here) || user.id === idOf(here));

/** Adds the list of linked accounts. */
function listRoutes(router: ExtensionRouter, { context: { directory }, path, base, pages, ownPage }: Parts): void {
  router.get(path, async (ctx: Context) => {
    const here = await ownPage.present(ctx, '', false);
    if (!here) return;
    const family = await directory.accounts.family(here.account.person);
    await pages.list(
      ctx,
      here.account,
      family,
      family.filter((account) => isEndable(here.account, account)),
      ownPage.noticeIn(ctx, here),
    );
  });

  router.postForm(path, {
    open: (ctx) => ownPage.present(ctx, '', false),
    subject: ({ oid }) => subjects.list(oid),
    again: pages.lost,
    async take(ctx, here) {
      const unlink = formField(ctx, 'unlink');
      const next = unlink === '' ? '/link' : `/unlink?${new URLSearchParams({ unlink })}`;
      return (await ownPage.mayChange(here)) ? redirectByGet(ctx, base + next) : ownPage.signIn(ctx, next, here);
    },
  });

  router.get(`${path}/return`, async (ctx: Context) => {
    const next = await ownPage.returned(ctx);
    return next === undefined ? pages.lost(ctx) : redirectByGet(ctx, base + next);
  });
}

/** Adds the steps to a new account link. */
function linkRoutes(router: ExtensionRouter, parts: Parts): void {
  const { context, path, pages, requests, ownPage } = parts;
  const { directory } = context;

  /** Returns the sign-in of the person who links. A user of a child account first meets the requirements of the parent account. */
  async function presentToLink(ctx: Context, next: string): Promise<BrowserSignIn | undefined> {
    const here = await ownPage.present(ctx, next);
    const parent = here && (await requests.unprovenParent(here));
    if (!parent) return here;
    await ownPage.signIn(ctx, next, undefined, { acrValues: `tenant:${parent.tenant.id}` });
    return undefined;
  }

  router.get(`${path}/link`, async (ctx: Context) => {
    const here = await presentToLink(ctx, '/link');
    if (!here) return;
    await ownPage.signIn(ctx, confirmOf(await requests.start(ctx, here)), undefined, { prompt: 'login' });
  });

  /** Returns the two proven accounts and the voucher of both sign-ins. Undefined after another page was shown. */
  async function proven(ctx: Context): Promise<Both | undefined> {
    const here = await presentToLink(ctx, confirmOf(linkOf(ctx)));
    const first = here && (await requests.first(ctx, linkOf(ctx), here));
    if (here && first) {
      const [one, other] = await Promise.all([first, here].map((signIn) => directory.means.ofSignIn(signIn, signIn.account)));
      return { one: first.account, other: here.account, vouchedBy: weaker(one, other) };
    }
    if (here) await pages.lost(ctx);
    return undefined;
  }

  router.get(`${path}/confirm`, async (ctx: Context) => {
    const both = await proven(ctx);
    if (!both) return;
    const { one, other } = both;
    const pairings = await pairingsOf(context, one, other);
    return typeof pairings === 'string'
      ? pages.refused(ctx, other, pairings)
      : pages.confirm(ctx, confirmOf(linkOf(ctx)), one, other, pairings);
  });

  router.postForm(`${path}/confirm`, {
    open: proven,
    subject: ({ one, other }) => subjects.link(one, other),
    again: pages.lost,
    take: (ctx, both) => link(ctx, both, parts),
  });
}

/** Links the accounts as the user chose, or shows why the accounts cannot be linked. */
async function link(ctx: Context, { one, other, vouchedBy }: Both, { context, base, pages, requests, ownPage }: Parts): Promise<void> {
  const {
    directory,
    http: { requestId },
    service: { logger },
  } = context;
  const pairings = await pairingsOf(context, one, other);
  if (typeof pairings === 'string') return pages.refused(ctx, other, pairings);
  const chosen = pairings.find(({ parent }) => idOf(parent) === formField(ctx, 'parent'));
  if (!chosen) return pages.confirm(ctx, confirmOf(linkOf(ctx)), one, other, pairings);
  const { parent, child } = chosen;
  if (!(await requests.end(ctx, linkOf(ctx)))) return redirectByGet(ctx, base);
  try {
    const asPerson = directory.as(attributionOf({ oid: idOf(one) }, requestId(ctx)), vouchedBy);
    const { linking } = asPerson.forTenant(child.tenant.id);
    await linking.link(idOf(child), { tid: parent.tenant.id, userId: idOf(parent) }, directory.privileges.checkNone);
  } catch (error) {
    if (IdpError.is(error, 'link_same_tenant')) return pages.refused(ctx, other, 'tenant');
    if (IdpError.is(error, 'link_not_allowed')) return pages.refused(ctx, other, 'policy');
    if (IdpError.is(error, 'link_privileged')) return pages.refused(ctx, other, 'privileged');
    if (IdpError.is(error, 'link_chain', 'link_self', 'already_linked', 'not_found')) return pages.refused(ctx, other, 'families');
    throw error;
  }
  logger.info({ requestId: requestId(ctx), child: idOf(child), parent: idOf(parent) }, 'a user linked two accounts');
  redirectByGet(ctx, ownPage.withNotice(ctx, { oid: idOf(other) }, base, 'linked'));
}

/** Adds the page that ends an account link. */
function unlinkRoutes(router: ExtensionRouter, { context, path, base, pages, ownPage }: Parts): void {
  const {
    directory,
    http: { requestId },
    service: { logger },
  } = context;

  /** Returns the child account whose account link the user may end; undefined after another page was shown. */
  async function endable(ctx: Context, oid: string): Promise<Ending | undefined> {
    const next = `/unlink?${new URLSearchParams({ unlink: oid })}`;
    const here = await ownPage.present(ctx, next, false);
    if (!here) return undefined;
    const child = await directory.accounts.findByOid(oid);
    if (child && isEndable(here.account, child) && (await ownPage.mayChange(here))) return { here, child };
    await (child && isEndable(here.account, child) ? ownPage.signIn(ctx, next, here) : pages.lost(ctx));
    return undefined;
  }

  router.get(`${path}/unlink`, async (ctx: Context) => {
    const ending = await endable(ctx, String(ctx.query.unlink));
    if (ending) await pages.unlink(ctx, ending.here.account, ending.child);
  });

  router.postForm(`${path}/unlink`, {
    open: (ctx) => endable(ctx, formField(ctx, 'unlink')),
    subject: ({ child }) => subjects.unlink(child),
    again: pages.lost,
    async take(ctx, { here, child }) {
      const { linking } = directory.as(attributionOf(here, requestId(ctx))).forTenant(child.tenant.id);
      const { parentUserId = '' } = child.person.user;
      const isEnded = await directory.waysIn.remove(child, 'parent', (check) =>
        linking.unlink(idOf(child), parentUserId, check).catch(IdpError.unless('not_linked')),
      );
      if (!isEnded) return pages.refused(ctx, child, 'onlyWay');
      logger.info({ requestId: requestId(ctx), child: idOf(child), parent: parentUserId }, 'a user ended an account link');
      redirectByGet(ctx, ownPage.withNotice(ctx, here, base, 'unlinked'));
    },
  });
}
