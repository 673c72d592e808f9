/** The pages of an invitation's link. Opening one changes nothing, because mail scanners open links; a form is posted by who means it. */
import type { Context } from 'koa';
import {
  accountName,
  type ExtensionContext,
  type ExtensionRouter,
  formField,
  hashingQueuesOf,
  IdpError,
  type LinkRef,
  type OpenedInvitation,
  type Proof,
} from '../../lib/extension-door.js';
import { createFinish } from './finish.js';
import { accepted, createPages, formSubject, nameOf, type Other, ofRules } from './pages.js';
import { personalRoutes } from './personal.js';

/** How an acceptance that was just made is signed in, when its form comes a second time. */
interface JustAccepted {
  readonly proof?: Proof;
}

export function invitationRoutes(router: ExtensionRouter, context: ExtensionContext): void {
  const {
    service: { own, url, logger },
    directory,
    http: { csrf, requestId },
    records: { artifact },
    signIn,
  } = context;
  const { acceptance } = directory;
  const base = `${own}/invitations`;
  const pages = createPages(context);
  const finish = createFinish(context, pages);

  router.get(`${base}/return`, finish.arrive);
  const personal = personalRoutes(router, context, { base, pages, signInTo: finish.signInTo });

  const action = (ctx: Context): string => url(`${base}/${String(ctx.params.token)}`);

  /** Who else is signed in here: accepting signs them out. */
  async function otherIn(ctx: Context, { person, takes }: OpenedInvitation): Promise<Other | undefined> {
    const ending = takes === 'link' ? undefined : await signIn.toEnd(ctx);
    if (!ending || ending.oid === person.user.id) return undefined;
    const here = await signIn.current(ctx);
    // The page names nobody whose sign-in is incomplete.
    if (!here) return { oid: ending.oid };
    return { oid: here.oid, name: accountName(here.account.person) };
  }

  router.linkPages<OpenedInvitation>({
    path: `${base}/:token`,
    async open(token) {
      const ref = acceptance.read(token);
      return ref && acceptance.open(ref);
    },
    subject: ({ ref }) => formSubject(ref),
    state: ({ state }) => (state === 'pending' ? 'pending' : 'over'),
    ask: async (ctx, found) => pages.accept(ctx, found, { action: action(ctx), other: await otherIn(ctx, found) }),
    take,
    over: pages.over,
    async takeOver(ctx, found) {
      if (found.state !== 'accepted' || found.takes === 'link') return pages.over(ctx, found);
      if (!(await wentOn(ctx, found))) await accept(ctx, found, undefined);
    },
    unknown: pages.unknown,
    again: (ctx, found) => pages.foreign(ctx, found, action(ctx)),
  });

  async function take(ctx: Context, found: OpenedInvitation): Promise<void> {
    const { takes } = found;
    const other = await otherIn(ctx, found);
    // Nobody is signed out who was not told of on the page.
    if (other && other.oid !== formField(ctx, 'over')) return pages.accept(ctx, found, { action: action(ctx), other, status: 409 });
    if (takes === 'link') return personal.begin(ctx, found);
    if (formField(ctx, 'step') === 'provider' && found.providers.length > 0) return finish.signInAt(ctx, found);
    await accept(ctx, found, other);
  }

  async function accept(ctx: Context, found: OpenedInvitation, other: Other | undefined): Promise<void> {
    const { ref, takes } = found;
    const again = (key: string, status: number, values: Readonly<Record<string, string>> = {}) =>
      pages.accept(ctx, found, { action: action(ctx), other, problem: { key, values }, status });
    const password = takes === 'password' ? formField(ctx, 'password') : undefined;
    if (password === '' && found.state === 'pending') return again('invitations.accept.missing', 400);
    try {
      const { proof } = await acceptance.accept(ref, password, hashingQueuesOf(ctx.ip), secondTime(ctx, ref));
      logger.info({ requestId: requestId(ctx), invitation: ref.id, tenant: found.tenant.id }, 'invitation accepted');
      await artifact(accepted).put(secondTime(ctx, ref), { ...(proof && { proof }) } satisfies JustAccepted);
      await finish.signInTo(ctx, found, proof);
    } catch (error) {
      if (IdpError.is(error, 'invalid_record')) {
        const key = ofRules[String(error.details.rule)] ?? 'invitations.accept.weak';
        return again(key, 400, { length: String(found.passwordLength) });
      }
      if (IdpError.is(error, 'busy')) {
        ctx.set('Retry-After', String(error.details.retryAfterSeconds ?? 1));
        return again('invitations.accept.busy', 503);
      }
      if (!IdpError.is(error, 'invitation_over')) throw error;
      const now = await acceptance.open(ref);
      if (!now) return pages.unknown(ctx);
      if (now.state === 'accepted' && (await wentOn(ctx, now))) return;
      return now.state === 'pending' ? again('invitations.accept.again', 409) : pages.over(ctx, now);
    }
  }

  /** Returns the id of the record, which no other browser can find out. */
  const secondTime = (ctx: Context, ref: LinkRef): string => csrf.ticket(ctx, `accepted ${nameOf(ref)}`);

  /** Goes on like the first time, in the browser that accepted it. */
  async function wentOn(ctx: Context, found: OpenedInvitation): Promise<boolean> {
    const kept = (await artifact(accepted).read(secondTime(ctx, found.ref))) as JustAccepted | undefined;
    if (!kept) return false;
    await finish.signInTo(ctx, found, kept.proof);
    return true;
  }
}
