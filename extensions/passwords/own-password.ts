/** Page on which signed-in users change their password, or set a first one. */
import type { Context } from 'koa';
import {
  type Account,
  Attempt,
  attributionOf,
  type BrowserSignIn,
  createOwnPage,
  type ExtensionContext,
  type ExtensionRouter,
  formField,
  hashingQueuesOf,
  IdpError,
  type InternalClients,
  type OwnPage,
  type OwnPasswordState,
  passwordField,
  present,
  redirectByGet,
  type Text,
  type View,
} from '../../lib/extension-door.js';
import { createMessages, passwordProblem } from './messages.js';
import type { Throttle } from './throttle.js';

export const ownPasswordPath = ({ own }: Pick<ExtensionContext['service'], 'own'>): string => `${own}/account/password`;

const ownPageOf = (context: ExtensionContext): OwnPage =>
  createOwnPage(context, 'passwords:own', ownPasswordPath(context.service), 'credentialChange');

/** Returns the internal application for which users of this page sign in. */
export const ownPasswordClient = (context: ExtensionContext): InternalClients => ownPageOf(context).clients;

/** Returns whether the user has a password to change, or may set one. */
export const hasOwnPassword = ({ account }: BrowserSignIn, { directory }: Pick<ExtensionContext, 'directory'>): boolean =>
  directory.passwordResets.isPossible(account);

/** The form as it is shown. */
interface Shown {
  /** Whether all other sign-ins end. @default true */
  readonly endsOthers?: boolean;
  readonly status?: number;
  /** Problem of the whole form. */
  readonly general?: Text;
  /** Problem of the current password. */
  readonly current?: Text;
  /** Problem of the new password. */
  readonly password?: Text;
}

const subjectOf = ({ session }: BrowserSignIn): string => `own password ${session}`;

function createPages(context: ExtensionContext) {
  const {
    service,
    directory: { ownPasswords },
    pages: { view, brandingOf },
  } = context;
  const action = service.url(ownPasswordPath(service));
  const show = async (ctx: Context, { tenant }: Account, model: View): Promise<void> =>
    view(ctx, { ...(await brandingOf(tenant.id)), ...model });

  return {
    action,

    /** Shows the form. A user without a password is not asked for a current one. */
    async ask(ctx: Context, here: BrowserSignIn, state: 'set' | 'none', shown: Shown = {}): Promise<void> {
      const { person, tenant } = here.account;
      const { userName } = person.user;
      const { endsOthers = true, status = 200, general, current, password } = shown;
      const field = { part: 'field', kind: 'password', userName } as const;
      await show(ctx, here.account, {
        title: state === 'set' ? 'passwords.own.title' : 'passwords.own.first',
        lead: { key: 'passwords.reset.lead', values: { userName, tenant: tenant.name } },
        status,
        ...present({ problem: general }),
        form: { action, subject: subjectOf(here) },
        parts: [
          ...(state === 'set'
            ? [
                {
                  ...field,
                  name: 'current',
                  label: 'passwords.own.current',
                  autocomplete: 'current-password',
                  ...present({ problem: current }),
                } as const,
              ]
            : []),
          {
            ...field,
            name: 'password',
            label: 'passwords.reset.password',
            autocomplete: 'new-password',
            hint: { key: 'passwords.reset.rule', values: { length: String(ownPasswords.length) } },
            ...present({ problem: password }),
          },
          { part: 'check', name: 'others', label: 'passwords.own.others', isTicked: endsOthers },
          { part: 'button', text: 'passwords.reset.submit' },
        ],
      });
    },

    /** Shows who decides on the password, to a user who cannot change it here. */
    async elsewhere(ctx: Context, here: BrowserSignIn, state: 'parent' | 'policy'): Promise<void> {
      const { tenant, owner } = here.account;
      const parent = { userName: owner?.person.user.userName ?? '', tenant: owner?.tenant.name ?? '' };
      const text: Text =
        state === 'policy'
          ? { key: 'passwords.own.policy', values: { tenant: tenant.name } }
          : { key: 'passwords.own.parent', values: parent };
      await show(ctx, here.account, { title: 'passwords.own.title', parts: [{ part: 'text', text }] });
    },

    changed: (ctx: Context, here: BrowserSignIn, endsOthers: boolean): Promise<void> =>
      show(ctx, here.account, {
        title: 'passwords.done.title',
        parts: [{ part: 'text', text: endsOthers ? 'passwords.own.ended' : 'passwords.own.stays' }],
      }),
  };
}

export function ownPasswordRoutes(router: ExtensionRouter, context: ExtensionContext, throttle: Throttle): void {
  const {
    service,
    directory: { ownPasswords },
  } = context;
  const path = ownPasswordPath(service);
  const ownPage = ownPageOf(context);
  const messages = createMessages(context);
  const pages = createPages(context);
  const isHere = (state: OwnPasswordState): state is 'set' | 'none' => state === 'set' || state === 'none';

  const show = async (ctx: Context, here: BrowserSignIn): Promise<void> => {
    const state = await ownPasswords.stateOf(here.account);
    await (isHere(state) ? pages.ask(ctx, here, state) : pages.elsewhere(ctx, here, state));
  };

  router.get(path, async (ctx: Context) => {
    const here = await ownPage.present(ctx, path);
    if (here) await show(ctx, here);
  });

  router.get(`${path}/return`, async (ctx: Context) => {
    const next = await ownPage.returned(ctx);
    return next === undefined ? messages.lost(ctx) : redirectByGet(ctx, service.url(next));
  });

  router.postForm(path, {
    open: (ctx) => ownPage.present(ctx, path),
    subject: subjectOf,
    again: (ctx, here) => messages.foreign(ctx, { tenant: here.account.tenant }, pages.action),
    refill: show,
    async take(ctx, here) {
      const state = await ownPasswords.stateOf(here.account);
      if (!isHere(state)) return pages.elsewhere(ctx, here, state);
      const form: PasswordForm = {
        state,
        current: passwordField(ctx, 'current'),
        password: passwordField(ctx, 'password'),
        endsOthers: formField(ctx, 'others') === 'yes',
      };
      const shown = await takeForm(ctx, context, throttle, here, form);
      if (shown === undefined) return pages.changed(ctx, here, form.endsOthers);
      await pages.ask(ctx, here, state, { endsOthers: form.endsOthers, ...shown });
    },
  });
}

/**
 * Adds the URL at which password managers look for the page, at an issuer without a path. At an issuer with a path, the URL belongs to the host.
 * @see RFC 8615, W3C Well-Known URL for Changing Passwords
 */
export function changePasswordRoute(router: ExtensionRouter, { service }: Pick<ExtensionContext, 'service'>): void {
  if (!service.changePassword || new URL(service.issuer).pathname !== '/') return;
  router.get('/.well-known/change-password', (ctx: Context) => ctx.redirect(service.url(ownPasswordPath(service))));
}

interface PasswordForm {
  readonly state: 'set' | 'none';
  readonly current: string;
  readonly password: string;
  readonly endsOthers: boolean;
}

/** Evaluates the form. Returns its problem; undefined if the password was changed. */
async function takeForm(
  ctx: Context,
  context: ExtensionContext,
  throttle: Throttle,
  here: BrowserSignIn,
  form: PasswordForm,
): Promise<Shown | undefined> {
  const { state, current, password } = form;
  const missing: Shown = {
    ...(state === 'set' && current === '' && { current: 'passwords.own.missing' }),
    ...(password === '' && { password: 'passwords.reset.missing' }),
  };
  if (missing.current !== undefined || missing.password !== undefined) return { ...missing, status: 400 };
  try {
    const refused = state === 'set' ? await provenBy(ctx, context, throttle, here, current) : undefined;
    return refused ?? (await change(ctx, context, here, form));
  } catch (error) {
    if (!IdpError.is(error, 'busy')) throw error;
    ctx.set('Retry-After', String(error.details.retryAfterSeconds ?? 1));
    return { status: 503, general: 'passwords.busy' };
  }
}

/** Compares the current password, within the rate limits of sign-ins. Returns the problem; undefined for the current password. */
async function provenBy(
  ctx: Context,
  { directory }: ExtensionContext,
  throttle: Throttle,
  { account, oid, session }: BrowserSignIn,
  current: string,
): Promise<Shown | undefined> {
  const attempt = new Attempt();
  const guess = await throttle.guess(attempt, session, oid);
  if (guess.minutes !== undefined) {
    ctx.set('Retry-After', String(guess.minutes * 60));
    return { status: 429, general: { key: 'passwords.often', values: { minutes: String(guess.minutes) } } };
  }
  const name = directory.accounts.nameKey(account.person.user.userName);
  const isRight = await attempt.run(() => directory.ownPasswords.isCurrent(account, current, hashingQueuesOf(ctx.ip, name)));
  if (!isRight) return { status: 400, current: 'passwords.own.wrong' };
  await guess.succeeded();
  return undefined;
}

/** Changes the password. Returns the problem; undefined if the password was changed. */
async function change(
  ctx: Context,
  { directory, service: { logger }, http: { requestId } }: ExtensionContext,
  here: BrowserSignIn,
  { state, current, password, endsOthers }: PasswordForm,
): Promise<Shown | undefined> {
  const { account, session, oid } = here;
  try {
    const isChanged = await directory.ownPasswords.change(account, {
      password,
      current: state === 'set' ? current : undefined,
      spared: endsOthers ? session : undefined,
      vouchedBy: await directory.means.ofSignIn(here, account),
      by: attributionOf(here),
      from: hashingQueuesOf(ctx.ip),
    });
    if (!isChanged) return { status: 409, general: 'passwords.own.meanwhile' };
  } catch (error) {
    if (!IdpError.is(error, 'invalid_record')) throw error;
    return { status: 400, password: passwordProblem(error, directory.ownPasswords.length) };
  }
  logger.info({ requestId: requestId(ctx), user: oid, tenant: account.tenant.id }, 'a user changed the password');
  return undefined;
}
