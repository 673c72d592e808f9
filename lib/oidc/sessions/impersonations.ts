/**
 * Impersonations, and sign-ins that end at a fixed time.
 *
 * The impersonator's session is set aside with its own grants. The set-aside session continues when the impersonation ends: on demand, by time, or because
 * the sign-in was cut off. The browser has two sessions. The browser's cookie names the session in use, and the record of that session names the other
 * session.
 */

import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { Interaction as ProviderInteraction } from 'oidc-provider';
import type { ImpersonationEnding } from '../../contract/sign-in/impersonation-rule.js';
import type { SignIn } from '../../contract/sign-in/interaction.js';
import type { EndedSignIn } from '../../contract/sign-in/logout-participant.js';
import { subOf } from '../../directory/index.js';
import { requestIdOf } from '../../http/requests/request-id.js';
import { present } from '../../present.js';
import { isOfKind } from '../../store/artifact-key.js';
import { epochSeconds } from '../../times/epoch-seconds.js';
import { nodeSeconds, secondsAhead } from '../../times/node-time.js';
import { goesOn } from '../accounts/going-on.js';
import type { GrantRecord, OurSession } from '../accounts/login-context.js';
import { type IsComplete, ofSession } from '../accounts/requirements.js';
import { sessionEnd } from '../accounts/session-end.js';
import { keyOf } from '../artifacts/ids.js';
import type { Aside } from '../artifacts/session-members.js';
import type { SessionPayload } from '../artifacts/session-merge.js';
import { readStored } from '../artifacts/stored-records.js';
import { clientOf } from '../clients/clients.js';
import type { OidcParts } from '../context.js';
import type { SessionHooks } from '../upstream/session.js';
import { createImpersonationHint, createSessionCookie } from './cookies.js';
import { LogoutNotices } from './logout-notices.js';
import { createAfterSignOut, endedSignIn } from './logout-participants.js';
import { changeSession, endSignIn, isSameSignIn, sessionTtl } from './sessions.js';
import { createSignOutResults } from './sign-out-result.js';

/** An impersonation that begins. */
type BegunImpersonation = Pick<SignIn, 'impersonation' | 'endsAt'> & Required<Pick<SignIn, 'act'>>;

export interface Impersonations {
  /**
   * Sets the session of the impersonator aside. The browser has no session until the sign-in is complete.
   *
   * Returns undefined if the impersonator:
   * - is not signed in,
   * - already impersonates a user, or
   * - still has an open requirement, for the signed-in account or for the account that impersonates.
   * @returns the session that was set aside, with the owner of the credential that its sign-in used, and what it `used`.
   */
  begin(
    ctx: Context,
    details: ProviderInteraction,
    signIn: BegunImpersonation,
  ): Promise<{ readonly session: Aside; readonly owner: string; readonly used: string | undefined } | undefined>;
  /**
   * Ends the impersonation of this browser, notifies the clients, and signs the impersonator in again.
   * @returns the URL to continue at: `next`, or a page on the way to it; undefined if nobody is impersonated
   */
  end(ctx: Context, next: string): Promise<string | undefined>;
  /** Ends the impersonation of this name in every browser, and notifies the clients. */
  endOf(oid: string, name: string): Promise<void>;
  readonly hooks: SessionHooks;
}

/** Parts by which impersonations begin and end. */
interface ImpersonationParts {
  readonly parts: OidcParts;
  readonly provider: () => Provider;
  readonly isComplete: IsComplete;
  readonly hint: ReturnType<typeof createImpersonationHint>;
  readonly afterwards: ReturnType<typeof createAfterSignOut>;
  readonly results: ReturnType<typeof createSignOutResults>;
  readonly setCookie: ReturnType<typeof createSessionCookie>;
}

export function createImpersonations(parts: OidcParts, provider: () => Provider, isComplete: IsComplete): Impersonations {
  const { now, options } = parts;
  const hint = createImpersonationHint(options);
  const afterwards = createAfterSignOut(parts);
  const results = createSignOutResults(parts, afterwards);
  const setCookie = createSessionCookie(options, provider);
  const made: ImpersonationParts = { parts, provider, isComplete, hint, afterwards, results, setCookie };

  return {
    begin: (ctx, details, signIn) => begin(made, ctx, details, signIn),
    end: (ctx, next) => end(made, ctx, next),
    endOf: (oid, name) => endOf(parts, oid, name),

    hooks: {
      now,
      isOver: (session) => isOver(parts, session as OurSession),
      async instead(ctx, session) {
        await endFor(parts, session as OurSession);
        hint.clear(ctx as unknown as Context);
        return restored(made, ctx, (session as OurSession).aside);
      },
    },
  };
}

async function begin(
  { parts, provider, isComplete, hint, setCookie }: ImpersonationParts,
  ctx: Context,
  details: ProviderInteraction,
  { act: { oid, sub, tid }, impersonation: name, endsAt }: BegunImpersonation,
): ReturnType<Impersonations['begin']> {
  const { artifacts, browsers, browserState, directory, now, options } = parts;
  const session = (await provider().Session.get(ctx)) as OurSession;
  const browser = browsers.browserOf(ctx);
  const [current, actor] = await Promise.all([session.accountId ?? '', oid].map((id) => directory.accounts.findByOid(id)));
  const owner = session.owner ?? session.accountId;
  if (!current || !actor) return undefined;
  for (const account of [current, actor])
    if (subOf(account.person.user) !== session.sub || !(await goesOn(parts, account, ofSession(session)))) return undefined;
  if (owner === undefined || session.act || browser === undefined || sub !== session.sub || tid !== actor.tenant.id) return undefined;
  const client = clientOf(await provider().Client.find(String(details.params.client_id)));
  for (const account of [current, actor]) if (!(await isComplete(account, ofSession(session), client))) return undefined;
  const { lifetimes } = options;
  const end = endsAt === undefined ? epochSeconds(now()) : Math.floor(endsAt.getTime() / 1000);
  // The record has to exist at the end of the impersonation, and no use prolongs the record before.
  const keptUntil = (sessionEnd(lifetimes, session.loginTs ?? 0, end + lifetimes.sessionIdle) + secondsAhead(now)) * 1000;
  const setAside = (current: SessionPayload): SessionPayload | undefined =>
    isSameSignIn(current, session) ? { ...current, ...present({ actsAs: name }) } : undefined;
  if (!(await changeSession(artifacts, keyOf('Session', session.uid), setAside, { keptUntil }))) return undefined;
  // The sign-in continues in a separate session.
  details.session = undefined as never;
  await details.persist();
  setCookie(ctx, null);
  browserState.clear(ctx);
  hint.set(ctx, endsAt);
  return { session: { uid: session.uid, browser }, owner, used: session.used };
}

async function end(made: ImpersonationParts, ctx: Context, next: string): Promise<string | undefined> {
  const { parts, provider, hint, afterwards, results, setCookie } = made;
  const session = (await provider().Session.get(ctx)) as OurSession;
  if (!session.act) return undefined;
  const { notices, ended } = await endFor(parts, session, { isAsked: true, requestId: requestIdOf(ctx as never) });
  parts.browserState.clear(ctx);
  hint.clear(ctx);
  const before = await restored(made, ctx, session.aside);
  if (before) await before.save(sessionTtl(parts, before));
  setCookie(ctx, before?.jti ?? null, before?.exp);
  const frames = [...(await notices.frames(parts.options.issuer)), ...(await afterwards.frames(ended))];
  const result = frames.length === 0 ? undefined : await results.keep(ctx, { batch: notices.batch, frames, next, ended });
  return afterwards.visits(ended, result === undefined ? next : provider().urlFor('end_session_success') + result);
}

async function endOf(parts: OidcParts, oid: string, name: string): Promise<void> {
  const { artifacts } = parts;
  const notices = new LogoutNotices(parts);
  for (const artifact of await artifacts.listByAccount(oid)) {
    const { key, expiresAt } = artifact;
    if (isOfKind(key, 'Session'))
      await endSignIn(
        artifacts,
        key,
        (before, of) => notices.enqueue(before, of),
        ({ impersonation }) => impersonation === name,
      );
    // Ends also a grant that its session does not list.
    else if (isOfKind(key, 'Grant') && readStored<GrantRecord>('Grant', artifact)?.login?.impersonation === name)
      await artifacts.commit([{ op: 'remove', key, until: expiresAt }]);
  }
  notices.release();
}

/** Returns the session of the impersonator, under a new secret. Undefined if the session has ended, or belongs to another browser. */
async function restored(
  { parts, provider }: ImpersonationParts,
  ctx: Pick<Context, 'headers'>,
  aside: Aside | undefined,
): Promise<OurSession | undefined> {
  if (!aside || !parts.browsers.isBoundHere(ctx, aside)) return undefined;
  const session = (await provider().Session.findByUid(aside.uid)) as OurSession | undefined;
  if (!session?.accountId || (await isOver(parts, session))) return undefined;
  session.resetIdentifier();
  delete session.actsAs;
  return session;
}

/** Ends the sign-in of a session with its grants, notifies its clients, and removes the record. The cookie of the session has no further use. */
async function endFor(
  parts: OidcParts,
  { uid, exp }: OurSession,
  asked?: ImpersonationEnding,
): Promise<{ readonly notices: LogoutNotices; readonly ended: readonly EndedSignIn[] }> {
  const key = keyOf('Session', uid);
  const notices = new LogoutNotices(parts, asked);
  const before = await endSignIn(parts.artifacts, key, (session, of) => notices.enqueue(session, of));
  if (key) await parts.artifacts.commit([{ op: 'remove', key, until: (exp ?? nodeSeconds()) * 1000 }]);
  notices.release();
  return { notices, ended: [(before && key && endedSignIn(before, key)) ?? []].flat() };
}

function isOver(
  { impersonationRules, now }: OidcParts,
  { endsAt, aside, accountId, act, impersonation }: OurSession,
): boolean | Promise<boolean> {
  if ((endsAt !== undefined && endsAt <= epochSeconds(now())) || (aside !== undefined && accountId === undefined)) return true;
  if (!act || impersonation === undefined || accountId === undefined) return false;
  return Promise.resolve(impersonationRules.mayGoOn({ name: impersonation, oid: accountId, act })).then((may) => !may);
}
