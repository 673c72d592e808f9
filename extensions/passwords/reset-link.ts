/** Pages of a reset link. Opening the reset link changes nothing, because mail scanners open links. Users post the form of the page. */
import { randomUUID } from 'node:crypto';
import type { Context } from 'koa';
import {
  Attempt,
  type ExtensionContext,
  type ExtensionRouter,
  formField,
  hashingQueuesOf,
  IdpError,
  type LinkOutcome,
  type LinkRef,
  type OpenedReset,
  passwordField,
  present,
  type ResetState,
  recordsOfBrowsers,
  type Text,
  type ViewPart,
} from '../../lib/extension-door.js';
import { createMessages, passwordProblem } from './messages.js';
import { type DueReset, RESET, resetBrowsers, usedLinks } from './records.js';
import type { Throttle } from './throttle.js';

const statusOf: Readonly<Partial<Record<ResetState, number>>> = { unavailable: 503, unconfirmed: 403 };

/** Returns the name of the reset link, for its form and for the record of the browser that used it. */
const subjectOf = ({ id, serial }: LinkRef): string => `reset ${id}.${serial}`;

function createPages(context: ExtensionContext) {
  const {
    service: { own, url },
    signIn: { interactions },
    pages: { view, brandingOf },
  } = context;
  const begunHere = recordsOfBrowsers(context, resetBrowsers);
  const action = (ctx: Context): string => url(`${own}/password/${String(ctx.params.token)}`);
  const lookOf = ({ tenant, clientId }: OpenedReset) => brandingOf(tenant.id, clientId);

  return {
    action,
    lookOf,

    async ask(ctx: Context, opened: OpenedReset, problem?: Text, status = 200, general?: Text): Promise<void> {
      const { ref, tenant, person, passwordLength } = opened;
      const values = { tenant: tenant.name, userName: person.user.userName, length: String(passwordLength) };
      await view(ctx, {
        ...(await lookOf(opened)),
        title: 'passwords.reset.title',
        lead: { key: 'passwords.reset.lead', values },
        status,
        ...present({ problem: general }),
        form: { action: action(ctx), subject: subjectOf(ref), fields: { step: 'set' } },
        parts: [
          {
            part: 'field',
            name: 'password',
            label: 'passwords.reset.password',
            kind: 'password',
            autocomplete: 'new-password',
            userName: person.user.userName,
            hint: { key: 'passwords.reset.rule', values },
            ...present({ problem }),
          },
          { part: 'text', text: 'passwords.reset.ends' },
          { part: 'button', text: 'passwords.reset.submit' },
        ],
      });
    },

    /** Shows the page for a reset link that cannot be used any more. Another reset link can be mailed to the same user. */
    async over(ctx: Context, opened: OpenedReset): Promise<void> {
      const { state, ref } = opened;
      if (state === 'pending') throw new TypeError('the link can be used');
      await view(ctx, {
        ...(await lookOf(opened)),
        title: `passwords.${state}.title`,
        status: statusOf[state] ?? 410,
        ...(canBeSentAgain(state) ? { form: { action: action(ctx), subject: subjectOf(ref), fields: { step: 'again' } } } : {}),
        parts: [
          { part: 'text', text: `passwords.${state}.text` },
          ...(canBeSentAgain(state) ? [{ part: 'button', text: 'passwords.again' } as const] : []),
        ],
      });
    },

    /** Shows the page after the password was set. The page leads back to the sign-in in which the user forgot the password, or to the application. */
    async done(ctx: Context, opened: OpenedReset): Promise<void> {
      const look = await lookOf(opened);
      const { client_uri: clientUri } = (look.client?.metadata ?? {}) as { readonly client_uri?: string };
      const { uid } = opened;
      const isHere = uid !== undefined && (await begunHere.read(ctx, uid)) !== undefined;
      const isLive = isHere && (await interactions.restart(ctx, uid)) !== undefined;
      const href = isLive ? url(`${own}/interaction/${uid}/restart`) : clientUri;
      const link: readonly ViewPart[] = href === undefined ? [] : [{ part: 'link', text: 'passwords.done.signIn', href, look: 'filled' }];
      const text = href === undefined ? 'passwords.done.later' : 'passwords.done.text';
      // An attacker who had the password may have added another way to sign in. A new password does not remove this other way.
      const ways: readonly ViewPart[] = [
        { part: 'text', text: 'passwords.done.ways' },
        { part: 'link', text: 'passwords.done.check', href: url(`${own}/account`) },
      ];
      await view(ctx, { ...look, title: 'passwords.done.title', parts: [{ part: 'text', text }, ...link, ...ways] });
    },
  };
}

const canBeSentAgain = (state: ResetState): boolean => state === 'expired' || state === 'used';

export function resetLinkRoutes(router: ExtensionRouter, context: ExtensionContext, throttle: Throttle): void {
  const {
    service: { own, logger },
    directory,
    work: { deliver },
    http: { requestId },
  } = context;
  const { passwordResets } = directory;
  const messages = createMessages(context);
  const { action, ask, done, lookOf, over } = createPages(context);

  router.linkPages<OpenedReset>({
    path: `${own}/password/:token`,
    async open(token) {
      const ref = passwordResets.read(token);
      return ref && passwordResets.open(ref);
    },
    subject: ({ ref }) => subjectOf(ref),
    state: ({ state }) => (state === 'pending' || state === 'used' ? state : 'over'),
    ask: (ctx, opened) => ask(ctx, opened),
    async take(ctx, opened) {
      if (formField(ctx, 'step') === 'again') return sendAgain(ctx, opened);
      const password = passwordField(ctx, 'password');
      return password === '' ? ask(ctx, opened, 'passwords.reset.missing', 400) : accept(ctx, opened, password);
    },
    usedHere: { kind: usedLinks, show: done },
    over,
    takeOver: (ctx, opened) => (formField(ctx, 'step') === 'again' ? sendAgain(ctx, opened) : over(ctx, opened)),
    unknown: messages.unknown,
    again: async (ctx, opened) => messages.foreign(ctx, await lookOf(opened), action(ctx)),
  });

  async function accept(ctx: Context, opened: OpenedReset, password: string): Promise<LinkOutcome> {
    const { ref, passwordLength, tenant } = opened;
    try {
      await passwordResets.accept(ref, password, hashingQueuesOf(ctx.ip));
      logger.info({ requestId: requestId(ctx), user: ref.id, tenant: tenant.id }, 'password reset');
      return 'used';
    } catch (error) {
      if (IdpError.is(error, 'invalid_record')) return ask(ctx, opened, passwordProblem(error, passwordLength), 400);
      if (IdpError.is(error, 'busy')) {
        ctx.set('Retry-After', String(error.details.retryAfterSeconds ?? 1));
        return ask(ctx, opened, undefined, 503, 'passwords.busy');
      }
      if (IdpError.is(error, 'reset_over')) return 'over';
      throw error;
    }
  }

  async function sendAgain(ctx: Context, opened: OpenedReset): Promise<void> {
    const { ref, clientId, uid, tenant } = opened;
    const attempt = new Attempt();
    const minutes = await throttle.request(attempt, ref.id, ctx.ip);
    if (minutes !== undefined || !context.work.mail) return messages.often(ctx, await lookOf(opened), minutes ?? 1);
    if (!(await throttle.isTooMany(attempt, ref.id))) {
      const due: DueReset = {
        oid: ref.id,
        requestId: randomUUID(),
        mailing: randomUUID(),
        ...(clientId && { clientId }),
        ...(uid && { uid }),
      };
      (await attempt.run(() => deliver(RESET, { ...due }))).release();
    }
    await messages.sentAgain(ctx, await lookOf(opened), tenant.name);
  }
}
