/**
 * Invitations with `link`: the user signs in to a personal account, or creates one, and then confirms that the tenant's account is linked to it. So the
 * user proves both: the invitation by the invitation link, and the personal account by a later sign-in.
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
  RECENT_SIGN_IN_SECONDS,
  redirectByGet,
} from '../../lib/extension-door.js';
import { type AdmissionParts, type Admitted, createAdmissions } from './admission.js';
import { creationOf } from './applications.js';
import type { Finish } from './finish.js';
import { confirmSubject, type Refusal } from './pages.js';
import { type AdmittedParts, personalAccountRoutes } from './personal-account.js';

interface Parts extends AdmittedParts {
  readonly signInUser: Finish['signInUser'];
}

/** The sign-in of a personal account after the invitation link was opened, and the invitation by which the account is linked. */
interface PersonalSignIn extends Admitted {
  readonly here: BrowserSignIn;
}

export function personalRoutes(
  router: ExtensionRouter,
  context: ExtensionContext,
  { base, pages, signInUser }: AdmissionParts & Pick<Parts, 'signInUser'>,
) {
  const admissions = createAdmissions(context, { base, pages });
  const parts: Parts = { context, base, pages, signInUser, admissions };
  if (!context.work.mail) personalAccountRoutes(router, parts);

  router.get(`${base}/confirm`, context.impersonation.inPerson, (ctx: Context) => showConfirm(parts, ctx));

  router.postForm<PersonalSignIn>(`${base}/confirm`, {
    // The form may be sent twice. The linked account gets the first answer again.
    open: (ctx) => signedIn(parts, ctx, true),
    subject: ({ opened, here }) => confirmSubject(opened.ref, here.oid),
    again: (ctx, { opened }) => pages.foreign(ctx, opened),
    take: (ctx, personalSignIn) => takeConfirm(parts, ctx, personalSignIn),
  });

  return {
    /** Continues with an invitation link in this browser as the user chose: with a sign-in or a new account. */
    async start(ctx: Context, opened: OpenedInvitation): Promise<void> {
      await admissions.admit(ctx, opened.ref);
      if (formField(ctx, 'step') !== 'create') return admissions.signInToPersonal(ctx, opened);
      // With mail, the address is proven first, by the pages and the mail of self-registration.
      if (context.work.mail) return admissions.signInToPersonal(ctx, opened, { client: creationOf(opened.ref), prompt: 'create' });
      return redirectByGet(ctx, admissions.stepUrl('create', opened.ref));
    },
  };
}

/** Returns the invitation in the URL and the sign-in of the personal account; undefined after a page was shown instead. */
async function signedIn(parts: Parts, ctx: Context, mayBeAccepted = false): Promise<PersonalSignIn | undefined> {
  const admitted = await parts.admissions.open(ctx, mayBeAccepted);
  const here = admitted && (await personalIn(parts, ctx, admitted));
  return admitted && here && { ...admitted, here };
}

/** Returns the sign-in of a personal account after the invitation link was opened; undefined after a page was shown instead. */
async function personalIn(
  { context, pages, admissions }: Parts,
  ctx: Context,
  { opened, admittedAt }: Admitted,
): Promise<BrowserSignIn | undefined> {
  const here = await context.signIn.current(ctx);
  const isPersonal = here?.account.tenant.id === context.service.personalTenant;
  // A sign-in by a credential that an account link replaced does not prove the account that becomes the parent account of the invited account.
  const isOwners = here?.owner === (here?.account.person.user.parentUserId ?? here?.oid);
  const isSince = here !== undefined && isPersonal && isOwners && here.authTime >= Math.floor(admittedAt / 1000);
  if (isSince && (await admissions.isProofCurrent(here))) {
    // An account link requires a recent sign-in, with the second factor of a user who has one.
    const isProven = await context.signIn.mayChange(here);
    if (isProven && context.service.now() / 1000 - here.authTime <= RECENT_SIGN_IN_SECONDS) return here;
    const again = { prompt: undefined, maxAge: RECENT_SIGN_IN_SECONDS };
    await admissions.signInToPersonal(ctx, opened, isProven ? again : { ...again, acrValues: `mfa tenant:${here.account.tenant.id}` });
    return undefined;
  }
  // An incomplete sign-in continues at its next step, for example at the second factor. If the proof has ended, the user signs in again.
  await (here && !isSince ? pages.lost(ctx) : admissions.signInToPersonal(ctx, opened, here ? {} : { prompt: undefined }));
  return undefined;
}

/**
 * Returns the account that would be the parent account: the signed-in account, or its parent account. Undefined if the sign-in does not meet the
 * requirements of the parent account.
 */
async function parentOf({ directory, signIn }: ExtensionContext, here: BrowserSignIn): Promise<Account | undefined> {
  const { id, parentUserId } = here.account.person.user;
  const parent = await directory.accounts.findByOid(parentUserId ?? id);
  return parent && (await signIn.isSufficient(parent, here)) ? parent : undefined;
}

/** Returns whether the invited user has no privileges in the admin API. A parent account could otherwise sign in to a privileged user. */
const isLinkable = async ({ directory }: ExtensionContext, { person }: OpenedInvitation): Promise<boolean> =>
  (await directory.privileges.of(person)).length === 0;

const isInTenant = async ({ directory }: ExtensionContext, { person }: Account, tid: string): Promise<boolean> =>
  (await directory.accounts.family(person)).some(({ tenant }) => tenant.id === tid);

async function showConfirm(parts: Parts, ctx: Context): Promise<void> {
  const { context, pages, admissions } = parts;
  const personalSignIn = await signedIn(parts, ctx);
  if (!personalSignIn) return;
  const { opened, here } = personalSignIn;
  const parent = await parentOf(context, here);
  if (!parent || !(await isLinkable(context, opened))) return refuse(parts, ctx, personalSignIn, 'other');
  if (await isInTenant(context, parent, opened.tenant.id)) return refuse(parts, ctx, personalSignIn, 'sameTenant');
  if (![parent.tenant, opened.tenant].every(mayLinkAccounts)) return refuse(parts, ctx, personalSignIn, 'policy');
  return pages.confirm(ctx, opened, here.account, admissions.stepUrl('confirm', opened.ref));
}

async function takeConfirm(parts: Parts, ctx: Context, personalSignIn: PersonalSignIn): Promise<void> {
  const { context, admissions } = parts;
  const { opened, here } = personalSignIn;
  if (formField(ctx, 'step') === 'another' && opened.state === 'pending') return admissions.signInToPersonal(ctx, opened);
  const parent = await parentOf(context, here);
  if (!parent || !(await isLinkable(context, opened))) return refuse(parts, ctx, personalSignIn, 'other');
  try {
    await accept(parts, ctx, personalSignIn, parent);
  } catch (error) {
    await showRefusal(parts, ctx, personalSignIn, error);
  }
}

/** Accepts the invitation, links the invited account to the parent account, and signs the browser in to the invited account. */
async function accept({ context, signInUser }: Parts, ctx: Context, { opened, here }: PersonalSignIn, parent: Account): Promise<void> {
  const { directory, http, service } = context;
  const { ref, tenant } = opened;
  const { person } = await directory.acceptance.acceptLinked(
    ref,
    { tid: parent.tenant.id, userId: parent.person.user.id },
    directory.privileges.checkNone,
    await directory.means.ofSignIn(here, here.account),
  );
  const fields = { requestId: http.requestId(ctx), invitation: ref.id, tenant: tenant.id };
  service.logger.info(fields, 'invitation accepted, and its account linked');
  // The sign-in proved the parent account's credentials, and the child account has these credentials now.
  const proof = await directory.credentials.proofOf({ person, tenant }, new Date(here.authTime * 1000));
  const { amr, idp, used, mfaIn, heldTo } = here;
  await signInUser(ctx, { ...opened, person }, proof, {
    amr,
    idp,
    ...present({ used, mfaIn, heldTo }),
  });
}

/** Shows why the personal account cannot be linked. */
const refuse = ({ pages, admissions }: Parts, ctx: Context, { opened, here }: PersonalSignIn, reason: Refusal): Promise<void> =>
  pages.refused(ctx, opened, reason, admissions.stepUrl('confirm', opened.ref), here.oid);

async function showRefusal(parts: Parts, ctx: Context, personalSignIn: PersonalSignIn, error: unknown): Promise<void> {
  const { context, pages } = parts;
  if (IdpError.is(error, 'link_same_tenant')) return refuse(parts, ctx, personalSignIn, 'sameTenant');
  if (IdpError.is(error, 'link_not_allowed')) return refuse(parts, ctx, personalSignIn, 'policy');
  if (IdpError.is(error, 'link_chain', 'link_self', 'link_privileged', 'already_linked', 'not_found'))
    return refuse(parts, ctx, personalSignIn, 'other');
  if (!IdpError.is(error, 'invitation_over')) throw error;
  const now = await context.directory.acceptance.open(personalSignIn.opened.ref);
  return !now || now.state === 'pending' ? pages.lost(ctx) : pages.over(ctx, now);
}
