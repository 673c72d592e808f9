/**
 * Invitations with `link`: the user signs in to a personal account, or creates one, and then says that the organisation's account is to be linked to it.
 * So who links has proven both: the invitation by its link, the personal account by a sign-in after that.
 */
import type Router from '@koa/router';
import type { Context } from 'koa';
import {
  type Account,
  type BrowserSignIn,
  type ExtensionContext,
  form,
  formField,
  IdpError,
  type LinkRef,
  type OpenedInvitation,
  type RegistrationProblem,
  redirectByGet,
  type Tenant,
  type Text,
  turnsOf,
} from '../../lib/extension-door.js';
import { applicationOf } from './applications.js';
import type { createFinish, ReturnState } from './finish.js';
import { admitted, type CreateForm, nameOf, ofRules, type Pages } from './pages.js';

interface Parts {
  readonly base: string;
  readonly pages: Pages;
  readonly signInTo: ReturnType<typeof createFinish>['signInTo'];
}

/** When the browser went on with the link, in milliseconds since the epoch. */
interface Admission {
  readonly at: number;
}

/** Personal accounts that one invitation can make in a day. */
const MOST_ACCOUNTS = 5;
/** Forms that one invitation can send in a day: each tells whether a name is taken. */
const MOST_FORMS = 30;
const DAY_MS = 86_400_000;

const pattern = /^([\da-f-]{36})\.([1-9]\d{0,8})$/;

export function personalRoutes(router: Router, context: ExtensionContext, { base, pages, signInTo }: Parts) {
  const { url, directory, csrf, artifact, requireSignIn, signedIn, inPerson, personalTenant, attempts, logger, requestId } = context;
  const { acceptance, accounts } = directory;

  const at = (page: 'create' | 'confirm', ref: LinkRef): string =>
    url(`${base}/${page}?${new URLSearchParams({ invitation: nameOf(ref) })}`);
  /** A token of this browser alone names the record. */
  const ticket = (ctx: Context, ref: LinkRef): string => csrf.token(ctx, `admitted ${nameOf(ref)}`);

  /** The invitation in the address, where this browser went on with its link; undefined once a page was shown instead. */
  async function admittedTo(
    ctx: Context,
    mayBeAccepted = false,
  ): Promise<(Admission & { readonly opened: OpenedInvitation; readonly personal: Tenant }) | undefined> {
    const [, id, serial] = pattern.exec(String(ctx.query.invitation)) ?? [];
    const ref = id === undefined ? undefined : { id, serial: Number(serial) };
    const admission = ref && ((await artifact(admitted).read(ticket(ctx, ref))) as Admission | undefined);
    const opened = admission && ref && (await acceptance.open(ref));
    const personal = personalTenant === undefined ? undefined : await directory.tenants.get(personalTenant);
    if (!admission || !opened || !personal || opened.takes !== 'link') {
      await pages.lost(ctx);
      return undefined;
    }
    if (opened.state !== 'pending' && !(mayBeAccepted && opened.state === 'accepted')) {
      await pages.over(ctx, opened);
      return undefined;
    }
    return { ...admission, opened, personal };
  }

  /** Sends the browser to the sign-in of the personal tenant. */
  async function signInThere(ctx: Context, { ref, tenant, clientId, locale }: OpenedInvitation, more: object = {}): Promise<void> {
    const state: ReturnState = { tid: tenant.id, ...(clientId === undefined ? {} : { clientId }), linking: ref };
    await requireSignIn(ctx, {
      client: applicationOf(tenant.id, clientId),
      state: JSON.stringify(state),
      prompt: 'login',
      acrValues: `tenant:${personalTenant}`,
      ...(locale === undefined ? {} : { uiLocales: locale }),
      ...more,
    });
  }

  /** The personal account that signed in here after the link was opened; undefined once a page was shown instead. */
  async function personalIn(ctx: Context, admittedAt: number): Promise<BrowserSignIn | undefined> {
    const here = await signedIn(ctx);
    const isPersonal = here?.account.tenant.id === personalTenant;
    if (here && isPersonal && here.authTime >= Math.floor(admittedAt / 1000)) return here;
    await pages.lost(ctx);
    return undefined;
  }

  /** Who would be the parent: an account that has one links to that. */
  async function parentOf({ person }: Account): Promise<Account | undefined> {
    const { parentUserId } = person.user;
    return parentUserId === undefined ? accounts.findByOid(person.user.id) : accounts.findByOid(parentUserId);
  }

  /** Linking makes nobody a parent of who may do something in the admin API. */
  const isLinkable = async ({ person }: OpenedInvitation): Promise<boolean> => (await accounts.privileges(person)).length === 0;

  const isInTenant = async ({ person }: Account, tid: string): Promise<boolean> =>
    (await accounts.family(person)).some(({ tenant }) => tenant.id === tid);

  router.get(`${base}/create`, inPerson, async (ctx: Context) => {
    const found = await admittedTo(ctx);
    if (!found) return;
    await showCreate(ctx, found, { givenName: found.opened.person.givenName, familyName: found.opened.person.familyName });
  });

  async function showCreate(
    ctx: Context,
    { opened, personal }: { readonly opened: OpenedInvitation; readonly personal: Tenant },
    values: Partial<CreateForm['values']>,
    more: { readonly problem?: Text; readonly problems?: Required<CreateForm>['problems']; readonly status?: number } = {},
  ): Promise<void> {
    const rules = await directory.forTenant(personal.id).registration.rules('invitation');
    if (!rules) return pages.lost(ctx);
    const { email = '' } = opened.person;
    await pages.create(ctx, opened, personal, {
      action: at('create', opened.ref),
      values: { givenName: '', familyName: '', email, ...values, password: '' },
      ...rules,
      ...more,
    });
  }

  router.post(`${base}/create`, inPerson, form, async (ctx: Context) => {
    const found = await admittedTo(ctx);
    if (!found) return;
    const { opened, personal } = found;
    if (!pages.isOfForm(ctx, opened.ref, formField(ctx, 'csrf'))) return pages.foreign(ctx, opened);
    const [givenName = '', familyName = '', email = ''] = ['givenName', 'familyName', 'email'].map((name) => formField(ctx, name).trim());
    const input = { givenName, familyName, email, password: formField(ctx, 'password') };
    const refused = (more: Parameters<typeof showCreate>[3]) => showCreate(ctx, found, input, more);
    const { registration } = directory.forTenant(personal.id);
    const taken = { status: 400, problems: { email: 'invitations.create.taken' } };
    const forms = await attempts(JSON.stringify(['invitation forms', opened.ref.id]), DAY_MS);
    if (forms.count > MOST_FORMS) return refused({ status: 429, problem: 'invitations.create.often' });
    const busy = (error: IdpError) => {
      ctx.set('Retry-After', String(error.details.retryAfterSeconds ?? 1));
      return refused({ status: 503, problem: 'invitations.accept.busy' });
    };
    const problems = await registration.problems(input).catch((error: unknown) => {
      if (IdpError.is(error, 'busy')) return error;
      throw error;
    });
    if (problems instanceof IdpError) return busy(problems);
    if (problems.length > 0) return refused({ status: 400, problems: Object.fromEntries(problems.map(problemOf)) });
    const counter = JSON.stringify(['invitation accounts', opened.ref.id]);
    if ((await attempts(counter, DAY_MS)).count > MOST_ACCOUNTS) return refused({ status: 429, problem: 'invitations.create.often' });
    const createdAt = new Date();
    try {
      const person = await registration.register(input, turnsOf(ctx.ip), 'invitation');
      const account = await accounts.findByOid(person.user.id);
      if (!account) return pages.lost(ctx);
      logger.info(
        { requestId: requestId(ctx), invitation: opened.ref.id, tenant: personal.id },
        'personal account created by an invitation',
      );
      const proof = await directory.credentials.proofOf(account, createdAt);
      const signIn = { oid: person.user.id, amr: ['pwd'], idp: 'local', proof };
      await signInThere(ctx, opened, { signIn, loginHint: email });
    } catch (error) {
      await attempts(counter, DAY_MS, -1);
      if (IdpError.is(error, 'user_name_taken')) return refused(taken);
      if (!IdpError.is(error, 'busy')) throw error;
      await busy(error);
    }
  });

  router.get(`${base}/confirm`, inPerson, async (ctx: Context) => {
    const found = await admittedTo(ctx);
    const here = found && (await personalIn(ctx, found.at));
    if (!found || !here) return;
    const { opened } = found;
    const parent = await parentOf(here.account);
    const action = at('confirm', opened.ref);
    if (!parent || !(await isLinkable(opened))) return pages.refused(ctx, opened, 'other', action, here.oid);
    if (await isInTenant(parent, opened.tenant.id)) return pages.refused(ctx, opened, 'sameTenant', action, here.oid);
    return pages.confirm(ctx, opened, here.account, action);
  });

  router.post(`${base}/confirm`, inPerson, form, async (ctx: Context) => {
    // The form may be sent twice: to the account that it was linked to, the second answer is that of the first.
    const found = await admittedTo(ctx, true);
    const here = found && (await personalIn(ctx, found.at));
    if (!found || !here) return;
    const { opened } = found;
    const { ref, tenant } = opened;
    if (!pages.isOfConfirmation(ctx, ref, here.oid, formField(ctx, 'csrf'))) return pages.foreign(ctx, opened);
    if (formField(ctx, 'step') === 'another' && opened.state === 'pending') return signInThere(ctx, opened);
    const action = at('confirm', ref);
    const parent = await parentOf(here.account);
    if (!parent || !(await isLinkable(opened))) return pages.refused(ctx, opened, 'other', action, here.oid);
    try {
      const { person } = await acceptance.acceptLinked(ref, { tid: parent.tenant.id, userId: parent.person.user.id });
      logger.info({ requestId: requestId(ctx), invitation: ref.id, tenant: tenant.id }, 'invitation accepted, and its account linked');
      // The parent's credentials, which were proven a moment ago, are those of the child by now.
      const proof = await directory.credentials.proofOf({ person, tenant }, new Date(here.authTime * 1000));
      await signInTo(ctx, { ...opened, person }, proof, { amr: here.amr, idp: here.idp });
    } catch (error) {
      if (IdpError.is(error, 'link_same_tenant')) return pages.refused(ctx, opened, 'sameTenant', action, here.oid);
      if (IdpError.is(error, 'link_chain', 'link_self', 'already_linked', 'not_found'))
        return pages.refused(ctx, opened, 'other', action, here.oid);
      if (!IdpError.is(error, 'invitation_over')) throw error;
      const now = await acceptance.open(ref);
      if (!now || now.state === 'pending') return pages.lost(ctx);
      return pages.over(ctx, now);
    }
  });

  return {
    /** Goes on with a link in this browser, as the person said: by a sign-in, or with a new account. */
    async begin(ctx: Context, opened: OpenedInvitation): Promise<void> {
      const admission: Admission = { at: Date.now() };
      await artifact(admitted).put(ticket(ctx, opened.ref), admission);
      if (formField(ctx, 'step') === 'create') return redirectByGet(ctx, at('create', opened.ref));
      return signInThere(ctx, opened);
    },
  };
}

/** The text about a field that registration refuses. */
const problemOf = ({ field, isTaken, rule }: RegistrationProblem): readonly [string, string] => [
  field,
  isTaken ? 'invitations.create.taken' : (ofRules[rule ?? ''] ?? `invitations.create.${field}Problem`),
];
