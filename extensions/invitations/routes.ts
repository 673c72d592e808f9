/** Routes of an invitation link. GET changes nothing, because mail scanners open links. The user accepts by posting a form. */
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
  passwordField,
} from '../../lib/extension-door.js';
import { createFinish, type Finish } from './finish.js';
import { acceptanceKind, formSubject, linkNameOf, type OtherUser, Pages, passwordProblems } from './pages.js';
import { personalRoutes } from './personal.js';

/** The proof with which a browser that accepted an invitation is signed in again, if it posts the form twice. */
interface JustAccepted {
  readonly proof?: Proof;
}

interface Parts {
  readonly context: ExtensionContext;
  readonly base: string;
  readonly pages: Pages;
  readonly finish: Finish;
  readonly personal: ReturnType<typeof personalRoutes>;
}

export function invitationRoutes(router: ExtensionRouter, context: ExtensionContext): void {
  const { acceptance } = context.directory;
  const base = `${context.service.own}/invitations`;
  const pages = new Pages(context.pages);
  const finish = createFinish(context, pages);

  router.get(`${base}/return`, finish.arrive);
  const personal = personalRoutes(router, context, { base, pages, signInUser: finish.signInUser });
  const parts: Parts = { context, base, pages, finish, personal };

  router.linkPages<OpenedInvitation>({
    path: `${base}/:token`,
    async open(token) {
      const ref = acceptance.read(token);
      return ref && acceptance.open(ref);
    },
    subject: ({ ref }) => formSubject(ref),
    state: ({ state }) => (state === 'pending' ? 'pending' : 'over'),
    ask: async (ctx, opened) => pages.accept(ctx, opened, { action: actionOf(parts, ctx), other: await otherUserIn(context, ctx, opened) }),
    take: (ctx, opened) => take(parts, ctx, opened),
    over: (ctx, opened) => pages.over(ctx, opened),
    async takeOver(ctx, opened) {
      if (opened.state !== 'accepted' || opened.takes === 'link') return pages.over(ctx, opened);
      if (!(await repeatSignIn(parts, ctx, opened))) await accept(parts, ctx, opened, undefined);
    },
    unknown: (ctx) => pages.unknown(ctx),
    again: (ctx, opened) => pages.foreign(ctx, opened, actionOf(parts, ctx)),
  });
}

const actionOf = ({ context, base }: Parts, ctx: Context): string => context.service.url(`${base}/${String(ctx.params.token)}`);

/** Returns another user who is signed in in this browser. An acceptance signs this user out. */
async function otherUserIn(
  { signIn }: ExtensionContext,
  ctx: Context,
  { person, takes }: OpenedInvitation,
): Promise<OtherUser | undefined> {
  const ending = takes === 'link' ? undefined : await signIn.toEnd(ctx);
  if (!ending || ending.oid === person.user.id) return undefined;
  const here = await signIn.current(ctx);
  // The page does not name a user whose sign-in is incomplete.
  if (!here) return { oid: ending.oid };
  return { oid: here.oid, name: accountName(here.account.person) };
}

async function take(parts: Parts, ctx: Context, opened: OpenedInvitation): Promise<void> {
  const { context, pages, finish, personal } = parts;
  const other = await otherUserIn(context, ctx, opened);
  // The page must have named the other user, so that no user is signed out unseen.
  if (other && other.oid !== formField(ctx, 'over')) return pages.accept(ctx, opened, { action: actionOf(parts, ctx), other, status: 409 });
  if (opened.takes === 'link') return personal.start(ctx, opened);
  if (formField(ctx, 'step') === 'provider' && opened.providers.length > 0) return finish.signInAtProvider(ctx, opened);
  await accept(parts, ctx, opened, other);
}

async function accept(parts: Parts, ctx: Context, opened: OpenedInvitation, other: OtherUser | undefined): Promise<void> {
  const { context, pages, finish } = parts;
  const { directory, http, records, service } = context;
  const { ref, takes } = opened;
  const again = (key: string, status: number, values: Readonly<Record<string, string>> = {}) =>
    pages.accept(ctx, opened, { action: actionOf(parts, ctx), other, problem: { key, values }, status });
  const password = takes === 'password' ? passwordField(ctx, 'password') : undefined;
  if (password === '' && opened.state === 'pending') return again('invitations.accept.missing', 400);
  try {
    const ticket = acceptanceTicket(context, ctx, ref);
    const { proof } = await directory.acceptance.accept(ref, password, hashingQueuesOf(ctx.ip), ticket);
    service.logger.info({ requestId: http.requestId(ctx), invitation: ref.id, tenant: opened.tenant.id }, 'invitation accepted');
    await records.artifact(acceptanceKind).put(ticket, { ...(proof && { proof }) } satisfies JustAccepted);
    await finish.signInUser(ctx, opened, proof);
  } catch (error) {
    if (IdpError.is(error, 'invalid_record')) {
      const key = passwordProblems[String(error.details.rule)] ?? 'invitations.accept.weak';
      return again(key, 400, { length: String(opened.passwordLength) });
    }
    if (IdpError.is(error, 'busy')) {
      ctx.set('Retry-After', String(error.details.retryAfterSeconds ?? 1));
      return again('invitations.accept.busy', 503);
    }
    if (!IdpError.is(error, 'invitation_over')) throw error;
    const now = await directory.acceptance.open(ref);
    if (!now) return pages.unknown(ctx);
    if (now.state === 'accepted' && (await repeatSignIn(parts, ctx, now))) return;
    return now.state === 'pending' ? again('invitations.accept.again', 409) : pages.over(ctx, now);
  }
}

/** Returns the id of the record, which no other browser can find out. */
const acceptanceTicket = ({ http }: ExtensionContext, ctx: Context, ref: LinkRef): string =>
  http.csrf.ticket(ctx, `accepted ${linkNameOf(ref)}`);

/** Signs the browser that accepted the invitation in again. @returns whether this browser accepted it */
async function repeatSignIn({ context, finish }: Parts, ctx: Context, opened: OpenedInvitation): Promise<boolean> {
  const ticket = acceptanceTicket(context, ctx, opened.ref);
  const acceptance = (await context.records.artifact(acceptanceKind).read(ticket)) as JustAccepted | undefined;
  if (!acceptance) return false;
  await finish.signInUser(ctx, opened, acceptance.proof);
  return true;
}
