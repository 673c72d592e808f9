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
import { type AdmissionParts, type Admissions, type Admitted, createAdmissions } from './admission.js';
import { creationOf } from './applications.js';
import type { Finish } from './finish.js';
import { confirmSubject, type Refusal } from './pages.js';
import { personalAccountRoutes } from './personal-account.js';

interface Parts extends AdmissionParts {
  readonly context: ExtensionContext;
  readonly admissions: Admissions;
  readonly signInUser: Finish['signInUser'];
}

/** A personal account that signed in after the link was opened, and the invitation that it is to be linked by. */
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
  if (!context.work.mail) personalAccountRoutes(router, context, { base, pages }, admissions);

  router.get(`${base}/confirm`, context.impersonation.inPerson, (ctx: Context) => showConfirm(parts, ctx));

  router.postForm<PersonalSignIn>(`${base}/confirm`, {
    // The form may be sent twice: to the account that it was linked to, the second answer is that of the first.
    open: (ctx) => signedIn(parts, ctx, true),
    subject: ({ opened, here }) => confirmSubject(opened.ref, here.oid),
    again: (ctx, { opened }) => pages.foreign(ctx, opened),
    take: (ctx, personalSignIn) => takeConfirm(parts, ctx, personalSignIn),
  });

  return {
    /** Goes on with a link in this browser, as the person said: by a sign-in, or with a new account. */
    async start(ctx: Context, opened: OpenedInvitation): Promise<void> {
      await admissions.admit(ctx, opened.ref);
      if (formField(ctx, 'step') !== 'create') return admissions.signInToPersonal(ctx, opened);
      // With mail, the address is proven first, by the same pages and mail as of any account that users create.
      if (context.work.mail) return admissions.signInToPersonal(ctx, opened, { client: creationOf(opened.ref), prompt: 'create' });
      return redirectByGet(ctx, admissions.stepUrl('create', opened.ref));
    },
  };
}

/** The invitation in the address and the personal account that signed in here for it; undefined once a page was shown instead. */
async function signedIn(parts: Parts, ctx: Context, mayBeAccepted = false): Promise<PersonalSignIn | undefined> {
  const admitted = await parts.admissions.open(ctx, mayBeAccepted);
  const here = admitted && (await personalIn(parts, ctx, admitted));
  return admitted && here && { ...admitted, here };
}

/** The personal account that signed in here after the link was opened; undefined once a page was shown instead. */
async function personalIn(
  { context, pages, admissions }: Parts,
  ctx: Context,
  { opened, admittedAt }: Admitted,
): Promise<BrowserSignIn | undefined> {
  const here = await context.signIn.current(ctx);
  const isPersonal = here?.account.tenant.id === context.service.personalTenant;
  // A sign-in by a credential that an account link replaced does not prove the parent, who becomes the parent of the invited account.
  const isOwners = here?.owner === (here?.account.person.user.parentUserId ?? here?.oid);
  const isSince = here !== undefined && isPersonal && isOwners && here.authTime >= Math.floor(admittedAt / 1000);
  if (isSince && (await admissions.isProofCurrent(here))) return here;
  // An incomplete sign-in goes on where it stopped, for example at the second factor. The user signs in again after the proof has ended.
  await (here && !isSince ? pages.lost(ctx) : admissions.signInToPersonal(ctx, opened, here ? {} : { prompt: undefined }));
  return undefined;
}

/** The account that would be the parent: the parent of the signed-in account, if it has one and the sign-in meets the parent's requirements. */
async function parentOf({ directory, signIn }: ExtensionContext, here: BrowserSignIn): Promise<Account | undefined> {
  const { id, parentUserId } = here.account.person.user;
  const parent = await directory.accounts.findByOid(parentUserId ?? id);
  return parent && (await signIn.isSufficient(parent, here)) ? parent : undefined;
}

/** Linking makes nobody a parent of who may do something in the admin API. */
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
  const action = admissions.stepUrl('confirm', opened.ref);
  const refuse = (reason: Refusal) => pages.refused(ctx, opened, reason, action, here.oid);
  if (!parent || !(await isLinkable(context, opened))) return refuse('other');
  if (await isInTenant(context, parent, opened.tenant.id)) return refuse('sameTenant');
  if (![parent.tenant, opened.tenant].every(mayLinkAccounts)) return refuse('policy');
  return pages.confirm(ctx, opened, here.account, action);
}

async function takeConfirm(parts: Parts, ctx: Context, personalSignIn: PersonalSignIn): Promise<void> {
  const { context, pages, admissions } = parts;
  const { opened, here } = personalSignIn;
  if (formField(ctx, 'step') === 'another' && opened.state === 'pending') return admissions.signInToPersonal(ctx, opened);
  const parent = await parentOf(context, here);
  if (!parent || !(await isLinkable(context, opened)))
    return pages.refused(ctx, opened, 'other', admissions.stepUrl('confirm', opened.ref), here.oid);
  try {
    await accept(parts, ctx, personalSignIn, parent);
  } catch (error) {
    await showRefusal(parts, ctx, personalSignIn, error);
  }
}

/** Accepts the invitation, links its account to the parent, and signs the browser in to it. */
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
  // The parent's credentials, which were proven a moment ago, are those of the child by now.
  const proof = await directory.credentials.proofOf({ person, tenant }, new Date(here.authTime * 1000));
  const { amr, idp, used, mfaIn, heldTo } = here;
  await signInUser(ctx, { ...opened, person }, proof, {
    amr,
    idp,
    ...present({ used, mfaIn, heldTo }),
  });
}

async function showRefusal(
  { context, pages, admissions }: Parts,
  ctx: Context,
  { opened, here }: PersonalSignIn,
  error: unknown,
): Promise<void> {
  const refuse = (reason: Refusal) => pages.refused(ctx, opened, reason, admissions.stepUrl('confirm', opened.ref), here.oid);
  if (IdpError.is(error, 'link_same_tenant')) return refuse('sameTenant');
  if (IdpError.is(error, 'link_not_allowed')) return refuse('policy');
  if (IdpError.is(error, 'link_chain', 'link_self', 'link_privileged', 'already_linked', 'not_found')) return refuse('other');
  if (!IdpError.is(error, 'invitation_over')) throw error;
  const now = await context.directory.acceptance.open(opened.ref);
  return !now || now.state === 'pending' ? pages.lost(ctx) : pages.over(ctx, now);
}
