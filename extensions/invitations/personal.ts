/**
 * Invitations with `link`: the user signs in to a personal account, or creates one, and then says that the organisation's account is to be linked to it.
 * So who links has proven both: the invitation by its link, the personal account by a sign-in after that.
 */
import type { Context } from 'koa';
import {
  type Account,
  type BrowserSignIn,
  type ExtensionContext,
  type ExtensionRouter,
  formField,
  IdpError,
  mayLinkAccounts,
  type OpenedInvitation,
  present,
  redirectByGet,
} from '../../lib/extension-door.js';
import { type AdmissionParts, type Admitted, createAdmissions } from './admission.js';
import { creationOf } from './applications.js';
import type { createFinish } from './finish.js';
import { confirmSubject } from './pages.js';
import { personalAccountRoutes } from './personal-account.js';

interface Parts extends AdmissionParts {
  readonly signInTo: ReturnType<typeof createFinish>['signInTo'];
}

export function personalRoutes(router: ExtensionRouter, context: ExtensionContext, { base, pages, signInTo }: Parts) {
  const {
    directory,
    signIn,
    impersonation: { inPerson },
    service: { personalTenant, logger },
    http: { requestId },
  } = context;
  const { acceptance, accounts } = directory;
  const admissions = createAdmissions(context, { base, pages });
  const { at, admittedTo, holds, signInThere } = admissions;
  if (!context.work.mail) personalAccountRoutes(router, context, { base, pages }, admissions);

  /** The personal account that signed in here after the link was opened; undefined once a page was shown instead. */
  async function personalIn(ctx: Context, found: Admitted): Promise<BrowserSignIn | undefined> {
    const { opened, at: admittedAt } = found;
    const here = await signIn.current(ctx);
    const isPersonal = here?.account.tenant.id === personalTenant;
    // A sign-in by a credential that an account link replaced does not prove the parent, who becomes the parent of the invited account.
    const isOwners = here?.owner === (here?.account.person.user.parentUserId ?? here?.oid);
    const isSince = here !== undefined && isPersonal && isOwners && here.authTime >= Math.floor(admittedAt / 1000);
    if (isSince && (await holds(here))) return here;
    // An incomplete sign-in goes on where it stopped, for example at the second factor. The user signs in again after the proof has ended.
    await (here && !isSince ? pages.lost(ctx) : signInThere(ctx, opened, here ? {} : { prompt: undefined }));
    return undefined;
  }

  /** The account that would be the parent: the parent of the signed-in account, if it has one and the sign-in meets the parent's requirements. */
  async function parentOf(here: BrowserSignIn): Promise<Account | undefined> {
    const { id, parentUserId } = here.account.person.user;
    const parent = await accounts.findByOid(parentUserId ?? id);
    return parent && (await signIn.isSufficient(parent, here)) ? parent : undefined;
  }

  /** Linking makes nobody a parent of who may do something in the admin API. */
  const isLinkable = async ({ person }: OpenedInvitation): Promise<boolean> => (await directory.privileges.of(person)).length === 0;

  const isInTenant = async ({ person }: Account, tid: string): Promise<boolean> =>
    (await accounts.family(person)).some(({ tenant }) => tenant.id === tid);

  router.get(`${base}/confirm`, inPerson, async (ctx: Context) => {
    const found = await admittedTo(ctx);
    const here = found && (await personalIn(ctx, found));
    if (!found || !here) return;
    const { opened } = found;
    const parent = await parentOf(here);
    const action = at('confirm', opened.ref);
    if (!parent || !(await isLinkable(opened))) return pages.refused(ctx, opened, 'other', action, here.oid);
    if (await isInTenant(parent, opened.tenant.id)) return pages.refused(ctx, opened, 'sameTenant', action, here.oid);
    if (![parent.tenant, opened.tenant].every(mayLinkAccounts)) return pages.refused(ctx, opened, 'policy', action, here.oid);
    return pages.confirm(ctx, opened, here.account, action);
  });

  router.postForm(`${base}/confirm`, {
    async open(ctx) {
      // The form may be sent twice: to the account that it was linked to, the second answer is that of the first.
      const admitted = await admittedTo(ctx, true);
      const here = admitted && (await personalIn(ctx, admitted));
      return admitted && here && { ...admitted, here };
    },
    subject: ({ opened, here }) => confirmSubject(opened.ref, here.oid),
    again: (ctx, { opened }) => pages.foreign(ctx, opened),
    async take(ctx, { opened, here }) {
      if (formField(ctx, 'step') === 'another' && opened.state === 'pending') return signInThere(ctx, opened);
      const parent = await parentOf(here);
      if (!parent || !(await isLinkable(opened))) return pages.refused(ctx, opened, 'other', at('confirm', opened.ref), here.oid);
      try {
        await accept(ctx, opened, here, parent);
      } catch (error) {
        await refused(ctx, opened, here, error);
      }
    },
  });

  /** Accepts the invitation, links its account to the parent, and signs the browser in to it. */
  async function accept(ctx: Context, opened: OpenedInvitation, here: BrowserSignIn, parent: Account): Promise<void> {
    const { ref, tenant } = opened;
    const { person } = await acceptance.acceptLinked(
      ref,
      { tid: parent.tenant.id, userId: parent.person.user.id },
      directory.privileges.checkNone,
      await directory.means.ofSignIn(here, here.account),
    );
    logger.info({ requestId: requestId(ctx), invitation: ref.id, tenant: tenant.id }, 'invitation accepted, and its account linked');
    // The parent's credentials, which were proven a moment ago, are those of the child by now.
    const proof = await directory.credentials.proofOf({ person, tenant }, new Date(here.authTime * 1000));
    const { amr, idp, used, mfaIn, heldTo } = here;
    await signInTo(ctx, { ...opened, person }, proof, {
      amr,
      idp,
      ...present({ used, mfaIn, heldTo }),
    });
  }

  async function refused(ctx: Context, opened: OpenedInvitation, { oid }: BrowserSignIn, error: unknown): Promise<void> {
    const action = at('confirm', opened.ref);
    if (IdpError.is(error, 'link_same_tenant')) return pages.refused(ctx, opened, 'sameTenant', action, oid);
    if (IdpError.is(error, 'link_not_allowed')) return pages.refused(ctx, opened, 'policy', action, oid);
    if (IdpError.is(error, 'link_chain', 'link_self', 'link_privileged', 'already_linked', 'not_found'))
      return pages.refused(ctx, opened, 'other', action, oid);
    if (!IdpError.is(error, 'invitation_over')) throw error;
    const now = await acceptance.open(opened.ref);
    return !now || now.state === 'pending' ? pages.lost(ctx) : pages.over(ctx, now);
  }

  return {
    /** Goes on with a link in this browser, as the person said: by a sign-in, or with a new account. */
    async begin(ctx: Context, opened: OpenedInvitation): Promise<void> {
      await admissions.admit(ctx, opened.ref);
      if (formField(ctx, 'step') !== 'create') return signInThere(ctx, opened);
      // With mail, the address is proven first, by the same pages and mail as of any account that users create.
      if (context.work.mail) return signInThere(ctx, opened, { client: creationOf(opened.ref), prompt: 'create' });
      return redirectByGet(ctx, at('create', opened.ref));
    },
  };
}
