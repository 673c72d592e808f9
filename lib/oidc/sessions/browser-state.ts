/**
 * State of a browser for the frame of the check-session endpoint: a cookie that scripts of this origin may read. The cookie differs for each sign-in and
 * has no other use. @see OpenID Connect Session Management 1.0 §3
 */
import { createHmac, hash } from 'node:crypto';
import type { Account, KoaContextWithOIDC } from 'oidc-provider';
import { createBounded } from '../../store/caches/bounded.js';
import { nodeTime } from '../../times/node-time.js';
import type { OurSession } from '../accounts/login-context.js';
import { createSalt } from '../artifacts/ids.js';
import type { BrowserState, OidcDependencies } from '../context.js';
import { type CookieNaming, cookieName } from './cookies.js';
import { sessionTtl } from './sessions.js';

export const browserStateCookie = (options: CookieNaming): string => cookieName('browser-state', options);

/** Errors that are found after the service knows the signed-in user. */
const aboutTheSession = new Set([
  'login_required',
  'interaction_required',
  'consent_required',
  'account_selection_required',
  'access_denied',
]);

/** Maximum sign-ins whose cookies are in memory; about 200 bytes each. */
const MAX_REMEMBERED = 10_000;
/**
 * Share of a cookie's life after which the cookie is prolonged. The cookie lives longer than the session by the same share, so that the cookie outlives the
 * session until then.
 */
const SLACK = 1 / 20;

/** Cookie of a sign-in, and the time until which this node need not prolong the cookie, in milliseconds since the epoch. */
interface Remembered {
  readonly value: string;
  freshUntil: number;
}

export function createBrowserState({ options, sealer, now }: Pick<OidcDependencies, 'options' | 'sealer' | 'now'>): BrowserState {
  const [key] = sealer.derive('browser state');
  const name = browserStateCookie(options);
  // Applications on other sites embed the frame.
  const sameSite = options.secure ? 'none' : 'lax';
  const attributes = { httpOnly: false, signed: false, overwrite: true, secure: options.secure, sameSite } as const;

  const clear: BrowserState['clear'] = (ctx) => void ctx.cookies.set(name, null, attributes);

  const remembered = createBounded<Remembered>({ max: MAX_REMEMBERED });

  const cookieOf = (signIn: string): Remembered => {
    const known = remembered.get(signIn);
    if (known) return known;
    const cookie = { value: createHmac('sha256', key).update(signIn).digest('base64url'), freshUntil: 0 };
    remembered.set(signIn, cookie);
    return cookie;
  };

  /** Returns the cookie after this response; undefined if this request does not know the cookie, null if there is none. */
  const cookieNow = (
    ctx: KoaContextWithOIDC,
    account: Account | undefined,
    session: OurSession,
    error: unknown,
  ): Remembered | null | undefined => {
    if (error !== undefined && !aboutTheSession.has(String(error))) return undefined;
    // A browser that does not send the session's cookie from a frame is not signed out.
    if (error !== undefined && !ctx.cookies.get(ctx.oidc.provider.cookieName('session'), { signed: false })) return undefined;
    const { uid, accountId, loginTs, signIn } = session;
    return accountId && account ? cookieOf(JSON.stringify([uid, accountId, loginTs, signIn])) : null;
  };

  return {
    clear,
    respond(ctx, origin, error) {
      const { session, account, client } = ctx.oidc;
      const given = ctx.cookies.get(name, { signed: false }) ?? '';
      const cookie = cookieNow(ctx, account, session as OurSession, error);
      const value = cookie === undefined ? given : (cookie?.value ?? '');
      const at = nodeTime();
      if (cookie === null && given !== '') clear(ctx);
      if (cookie && (value !== given || (error === undefined && at >= cookie.freshUntil))) {
        // The cookie ends with the session, which every success prolongs.
        const life = sessionTtl({ options, now }, session) * 1000;
        ctx.cookies.set(name, value, { ...attributes, maxAge: life * (1 + SLACK) });
        cookie.freshUntil = at + life * SLACK;
      }
      return sessionState(client?.clientId ?? '', origin, value);
    },
  };
}

/** @see OpenID Connect Session Management 1.0 §4.2 */
function sessionState(clientId: string, origin: string, browserState: string): string {
  const salt = createSalt();
  return `${hash('sha256', `${clientId} ${origin} ${browserState} ${salt}`, 'base64url')}.${salt}`;
}
