/** The pages of a link that resets a password. Opening it changes nothing, because mail scanners open links; a form is posted by who means it. */
import { randomUUID } from 'node:crypto';
import type Router from '@koa/router';
import type { Context } from 'koa';
import {
  type ExtensionContext,
  formField,
  hashingQueuesOf,
  IdpError,
  type LinkRef,
  linkPageRoutes,
  type OpenedReset,
  present,
  type ResetState,
  recordsOfBrowsers,
  redirectByGet,
  type Text,
  type ViewPart,
} from '../../lib/extension-door.js';
import { createMessages } from './messages.js';
import { begun, type DueReset, RESET, used } from './records.js';
import type { Throttle } from './throttle.js';

/** The words about a rule that a password breaks. */
const problems: Readonly<Record<string, string>> = {
  length: 'passwords.reset.short',
  userName: 'passwords.reset.userName',
  weak: 'passwords.reset.weak',
  leaked: 'passwords.reset.leaked',
};

const statusOf: Readonly<Partial<Record<ResetState, number>>> = { unavailable: 503, unconfirmed: 403 };

export function resetLinkRoutes(router: Router, context: ExtensionContext, throttle: Throttle): void {
  const {
    service: { own, url, logger },
    directory,
    signIn: { interactions },
    pages: { view, brandingOf },
    work: { deliver },
    http: { requestId },
  } = context;
  const { passwordResets } = directory;
  const messages = createMessages(context);
  const begunHere = recordsOfBrowsers(context, begun);
  const usedHere = recordsOfBrowsers(context, used);
  const action = (ctx: Context): string => url(`${own}/password/${String(ctx.params.token)}`);
  const subjectOf = ({ id, serial }: LinkRef): string => `reset ${id}.${serial}`;

  const lookOf = ({ tenant, clientId }: OpenedReset) => brandingOf(tenant.id, clientId);

  async function ask(ctx: Context, found: OpenedReset, problem?: Text, status = 200, general?: Text): Promise<void> {
    const { ref, tenant, person, passwordLength } = found;
    const values = { tenant: tenant.name, userName: person.user.userName, length: String(passwordLength) };
    await view(ctx, {
      ...(await lookOf(found)),
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
          ...present({ problem }),
        },
        { part: 'text', text: { key: 'passwords.reset.rule', values } },
        { part: 'text', text: 'passwords.reset.ends' },
        { part: 'button', text: 'passwords.reset.submit' },
      ],
    });
  }

  /** The link is good no more; another one can be had, for the same user. */
  async function over(ctx: Context, found: OpenedReset): Promise<void> {
    const { state, ref } = found;
    if (state === 'pending') throw new TypeError('the link is good');
    const again = state === 'expired' || state === 'used';
    await view(ctx, {
      ...(await lookOf(found)),
      title: `passwords.${state}.title`,
      status: statusOf[state] ?? 410,
      ...(again ? { form: { action: action(ctx), subject: subjectOf(ref), fields: { step: 'again' } } } : {}),
      parts: [{ part: 'text', text: `passwords.${state}.text` }, ...(again ? [{ part: 'button', text: 'passwords.again' } as const] : [])],
    });
  }

  /** The password is set: the way back to the sign-in that it was forgotten in, or to the application. */
  async function done(ctx: Context, found: OpenedReset): Promise<void> {
    const look = await lookOf(found);
    const { client_uri: clientUri } = (look.client?.metadata ?? {}) as { readonly client_uri?: string };
    const { uid } = found;
    const isHere = uid !== undefined && (await begunHere.read(ctx, uid)) !== undefined;
    const isLive = isHere && (await interactions.restart(ctx, uid)) !== undefined;
    const href = isLive ? url(`${own}/interaction/${uid}/restart`) : clientUri;
    const link: readonly ViewPart[] = href === undefined ? [] : [{ part: 'link', text: 'passwords.done.signIn', href }];
    const text = href === undefined ? 'passwords.done.later' : 'passwords.done.text';
    // Somebody who had the password may have added another way to sign in, which a new password does not remove.
    const ways: readonly ViewPart[] = [
      { part: 'text', text: 'passwords.done.ways' },
      { part: 'link', text: 'passwords.done.check', href: url(`${own}/account`) },
    ];
    await view(ctx, { ...look, title: 'passwords.done.title', parts: [{ part: 'text', text }, ...link, ...ways] });
  }

  const wasHere = async (ctx: Context, { ref, state }: OpenedReset): Promise<boolean> =>
    state === 'used' && (await usedHere.read(ctx, subjectOf(ref))) !== undefined;

  linkPageRoutes<OpenedReset>(router, context, {
    path: `${own}/password/:token`,
    async open(token) {
      const ref = passwordResets.read(token);
      return ref && passwordResets.open(ref);
    },
    subject: ({ ref }) => subjectOf(ref),
    async show(ctx, found) {
      if (found.state === 'pending') return ask(ctx, found);
      return (await wasHere(ctx, found)) ? done(ctx, found) : over(ctx, found);
    },
    async take(ctx, found) {
      if (formField(ctx, 'step') === 'again') return sendAgain(ctx, found);
      if (await wasHere(ctx, found)) return redirectByGet(ctx, action(ctx));
      if (found.state !== 'pending') return over(ctx, found);
      const password = formField(ctx, 'password');
      if (password === '') return ask(ctx, found, 'passwords.reset.missing', 400);
      await accept(ctx, found, password);
    },
    unknown: messages.unknown,
    foreign: async (ctx, found) => messages.foreign(ctx, await lookOf(found), action(ctx)),
  });

  async function accept(ctx: Context, found: OpenedReset, password: string): Promise<void> {
    const { ref, passwordLength, tenant } = found;
    try {
      await passwordResets.accept(ref, password, hashingQueuesOf(ctx.ip));
      logger.info({ requestId: requestId(ctx), user: ref.id, tenant: tenant.id }, 'password reset');
      await usedHere.put(ctx, subjectOf(ref));
      redirectByGet(ctx, action(ctx));
    } catch (error) {
      if (IdpError.is(error, 'invalid_record')) {
        const key = problems[String(error.details.rule)] ?? 'passwords.reset.short';
        return ask(ctx, found, { key, values: { length: String(passwordLength) } }, 400);
      }
      if (IdpError.is(error, 'busy')) {
        ctx.set('Retry-After', String(error.details.retryAfterSeconds ?? 1));
        return ask(ctx, found, undefined, 503, 'passwords.busy');
      }
      if (!IdpError.is(error, 'reset_over')) throw error;
      const now = await passwordResets.open(ref);
      if (!now || now.state === 'pending') return messages.unknown(ctx);
      return (await wasHere(ctx, now)) ? redirectByGet(ctx, action(ctx)) : over(ctx, now);
    }
  }

  async function sendAgain(ctx: Context, found: OpenedReset): Promise<void> {
    const { ref, clientId, uid, tenant } = found;
    const minutes = await throttle.request(ref.id, ctx.ip);
    if (minutes !== undefined || !context.work.mail) return messages.often(ctx, await lookOf(found), minutes ?? 1);
    if (!(await throttle.isTooMany(ref.id))) {
      const due: DueReset = {
        oid: ref.id,
        requestId: randomUUID(),
        mailing: randomUUID(),
        ...(clientId && { clientId }),
        ...(uid && { uid }),
      };
      (await deliver(RESET, { ...due })).release();
    }
    await messages.sentAgain(ctx, await lookOf(found), tenant.name);
  }
}
