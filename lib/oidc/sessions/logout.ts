import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { EndedSignIn, SignOutAsk } from '../../contract/sign-in/logout-participant.js';
import { forgetUnstored } from '../../http/failures.js';
import { present } from '../../present.js';
import { digestOfKey } from '../../store/artifact-key.js';
import { nodeSeconds } from '../../times/node-time.js';
import { isHintOf } from '../accounts/hints.js';
import { type OurSession, sessionOf } from '../accounts/login-context.js';
import { keyOf } from '../artifacts/ids.js';
import { clientOf } from '../clients/clients.js';
import type { OidcParts } from '../context.js';
import { endSessionUnasked } from '../upstream/session.js';
import { createLastSignOut, createSessionCookie } from './cookies.js';
import { LogoutNotices } from './logout-notices.js';
import { createAfterSignOut, endedSignIn } from './logout-participants.js';
import { endWithAside, removalsOf } from './sessions.js';
import { createSignOutResults } from './sign-out-result.js';
import { isSignedIn } from './signed-in.js';

/** Parts of the end-session endpoint. */
interface Logout {
  readonly parts: OidcParts;
  readonly provider: () => Provider;
  readonly lastSignOut: ReturnType<typeof createLastSignOut>;
  readonly afterwards: ReturnType<typeof createAfterSignOut>;
  readonly results: ReturnType<typeof createSignOutResults>;
  readonly setCookie: ReturnType<typeof createSessionCookie>;
  /** Ends the rest of a session, by the request that ends it. */
  readonly ending: WeakMap<object, (ctx: KoaContextWithOIDC, notices: LogoutNotices) => Promise<unknown>>;
}

/** Creates the handlers of the end-session endpoint, and of sign-outs at other places. @see OpenID Connect RP-Initiated Logout 1.0 */
export function createLogout(parts: OidcParts, provider: () => Provider) {
  const { options, showPage } = parts;
  const afterwards = createAfterSignOut(parts);
  const results = createSignOutResults(parts, afterwards);
  const ending: Logout['ending'] = new WeakMap();
  const made: Logout = {
    parts,
    provider,
    lastSignOut: createLastSignOut(options),
    afterwards,
    results,
    setCookie: createSessionCookie(options, provider),
    ending,
  };
  return {
    signOut: (ctx: Context, ask: SignOutAsk) => signOut(made, ctx, ask),
    endGrants: (ctx: KoaContextWithOIDC): void => endGrants(made, ctx),
    skipWithoutSession: (ctx: KoaContextWithOIDC): void => skipWithoutSession(made, ctx),

    /** Asks the user, unless the ID token belongs to this session, because a client with that token may end the session. */
    async logoutSource(ctx: KoaContextWithOIDC): Promise<void> {
      if (isOfThisSession(parts, ctx)) return endSessionUnasked(ctx);
      const { secret } = sessionOf(ctx).state as { secret: string };
      await showPage(ctx, {
        page: 'logout',
        action: ctx.oidc.urlFor('end_session_confirm'),
        fields: { xsrf: secret, csrf: parts.csrf.token(ctx as never, 'sign-out') },
        ...clientFor(ctx),
      });
    },

    /** Shows whether the user is signed in with this browser, because a link leads here too. */
    async postLogoutSuccessSource(ctx: KoaContextWithOIDC): Promise<void> {
      if (await results.show(ctx)) return;
      const isStaying = await isSignedIn(parts, provider(), ctx as unknown as Context);
      await showPage(ctx, { page: isStaying ? 'still-signed-in' : 'signed-out', ...clientFor(ctx) });
    },

    /**
     * Ends all grants of a session that this request ended, including grants that concurrent requests added. Notifies the clients of these grants.
     * @returns a function to call after all is written.
     */
    async endSession(ctx: KoaContextWithOIDC): Promise<() => void> {
      const notices = new LogoutNotices(parts);
      try {
        await ending.get(ctx)?.(ctx, notices);
      } catch (error) {
        // The session still exists, so the browser keeps its cookies.
        forgetUnstored(ctx);
        throw error;
      }
      return () => notices.release();
    },

    /** Returns whether {@link endSession} has anything to do. */
    isEnding: (ctx: KoaContextWithOIDC): boolean => ending.has(ctx),
  };
}

/** Ends the client's grants if the user stays signed in. Otherwise all grants end with the session. */
function endGrants(made: Logout, ctx: KoaContextWithOIDC): void {
  const { parts, ending } = made;
  if (ctx.oidc.params?.logout !== undefined) {
    ending.set(ctx, (of, notices) => endAll(made, of, notices));
    return;
  }
  const session = sessionOf(ctx);
  // The session no longer has the members of the request.
  const clientId = ctx.oidc.client?.clientId;
  const { grants = [] } = session;
  const ended = grants.filter((grant) => grant.clientId === clientId);
  if (ended.length === 0) return;
  const unit = parts.adapters.unitOf(ctx);
  for (const { key, until } of removalsOf(ended)) unit.remove(key, until);
  session.grants = grants.filter((grant) => grant.clientId !== clientId);
  ending.set(ctx, (_, notices) => notices.enqueue({ grants: ended }));
}

async function endAll(made: Logout, ctx: KoaContextWithOIDC, notices: LogoutNotices): Promise<void> {
  made.parts.browserState.clear(ctx);
  made.lastSignOut.set(ctx);
  const ended = await endAllOf(made, sessionOf(ctx).uid, notices);
  const target = String(ctx.response.get('Location'));
  const isOver = target === ctx.oidc.urlFor('end_session_success');
  const clientId = ctx.oidc.client?.clientId;
  ctx.redirect(await onward(made, ctx as unknown as Context, ended, notices, { target: isOver ? undefined : target, clientId }));
  ctx.status = 303;
}

async function signOut(made: Logout, ctx: Context, { session: name, next }: SignOutAsk): Promise<string | undefined> {
  const { parts, provider, lastSignOut, setCookie } = made;
  lastSignOut.set(ctx);
  const { uid, exp } = (await provider().Session.get(ctx)) as OurSession;
  const key = keyOf('Session', uid);
  if (!key || digestOfKey(key) !== name) return undefined;
  const notices = new LogoutNotices(parts);
  const ended = await endAllOf(made, uid, notices);
  if (ended.length === 0) return undefined;
  await parts.artifacts.commit([{ op: 'remove', key, until: (exp ?? nodeSeconds()) * 1000 }]);
  notices.release();
  parts.browserState.clear(ctx);
  setCookie(ctx, null);
  return onward(made, ctx, ended, notices, { target: next });
}

/** Ends the sign-ins of a session. Returns the sign-ins that this call ended, because a concurrent call may have ended some of the sign-ins. */
async function endAllOf({ parts }: Logout, uid: string, notices: LogoutNotices): Promise<readonly EndedSignIn[]> {
  const sessions = await endWithAside(parts.artifacts, uid, (before, key) => notices.enqueue(before, key));
  return sessions.flatMap(({ before, key }) => endedSignIn(before, key) ?? []);
}

/** Returns the URL to which the browser is redirected after sign-ins have ended. @param target @default the page that states the sign-out */
async function onward(
  { parts, provider, afterwards, results }: Logout,
  ctx: Context,
  ended: readonly EndedSignIn[],
  notices: LogoutNotices,
  { target, clientId }: { readonly target?: string | undefined; readonly clientId?: string | undefined },
): Promise<string> {
  const frames = [...(await notices.frames(parts.options.issuer)), ...(await afterwards.frames(ended))];
  const page = provider().urlFor('end_session_success');
  // Continues immediately, unless the browser has to visit a URL or the page has to wait first.
  const isTelling = target === undefined && (notices.isSending || (ended.length > 0 && parts.participants().size > 0));
  const about = { ...present({ next: target }), ...(clientId ? { clientId } : {}) };
  const plain = target ?? (clientId === undefined ? page : `${page}?${new URLSearchParams({ client_id: clientId })}`);
  const next = frames.length > 0 || isTelling ? page + (await results.keep(ctx, { batch: notices.batch, frames, ended, ...about })) : plain;
  return afterwards.visits(ended, next);
}

/** Skips the confirmation without a session, because there is nothing to confirm. */
function skipWithoutSession({ lastSignOut }: Logout, ctx: KoaContextWithOIDC): void {
  if (ctx.oidc?.route !== 'end_session' || ctx.status !== 200 || ctx.oidc.session?.accountId) return;
  lastSignOut.set(ctx);
  const { post_logout_redirect_uri: uri, state } = ctx.oidc.params as Record<string, string | undefined>;
  const target = new URL(uri ?? ctx.oidc.urlFor('end_session_success'));
  if (uri && state !== undefined) target.searchParams.set('state', state);
  if (!uri && ctx.oidc.client) target.searchParams.set('client_id', ctx.oidc.client.clientId);
  ctx.status = 303;
  ctx.redirect(target.href);
}

const clientFor = (ctx: KoaContextWithOIDC) => {
  const client = clientOf(ctx.oidc.client);
  return client ? { client } : {};
};

function isOfThisSession(parts: OidcParts, ctx: KoaContextWithOIDC): boolean {
  const hint = ctx.oidc.entities.IdTokenHint?.payload;
  const session = sessionOf(ctx);
  const client = ctx.oidc.client;
  if (!hint || !client || !isHintOf(parts, ctx, hint)) return false;
  const sids = [session.authorizations?.[client.clientId]?.sid, ...(session.grants ?? []).map(({ sid }) => sid)];
  return typeof hint.sid === 'string' && sids.includes(hint.sid);
}
