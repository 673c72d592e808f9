/**
 * The state of a browser, as the frame of the check-session endpoint sees it: a cookie that scripts of this origin may read, different for each
 * sign-in, and of no use for anything else. @see OpenID Connect Session Management 1.0 §3
 */
import { createHmac, hash, randomBytes } from 'node:crypto';
import type { Context } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { ResolvedOptions } from '../options-defaults.js';
import type { Keyring } from '../store/keyring.js';
import { cookieName } from './cookie-names.js';
import { sessionOf } from './login-context.js';
import { sessionTtl } from './sessions.js';

export interface BrowserState {
  /**
   * Brings the cookie up to date with an authorization response.
   * @returns the response's `session_state`.
   */
  respond(ctx: KoaContextWithOIDC, redirectUri: string, error: unknown): string;
  /** The sign-in of this browser ended. */
  clear(ctx: Pick<Context, 'cookies'>): void;
}

export const browserStateCookie = (options: Pick<ResolvedOptions, 'secure' | 'mountPath'>): string => cookieName('browser-state', options);

/** Errors that are found once it is known who is signed in. */
const aboutTheSession = new Set([
  'login_required',
  'interaction_required',
  'consent_required',
  'account_selection_required',
  'access_denied',
]);

export function createBrowserState({ options, keyring }: { options: ResolvedOptions; keyring: Keyring }): BrowserState {
  const [key] = keyring.derive('browser state');
  const name = browserStateCookie(options);
  // Applications of other sites embed the frame.
  const sameSite = options.secure ? 'none' : 'lax';
  const attributes = { httpOnly: false, signed: false, overwrite: true, secure: options.secure, sameSite } as const;

  const clear: BrowserState['clear'] = (ctx) => void ctx.cookies.set(name, null, attributes);

  /** What the cookie has to say after this response; undefined when this request does not know. */
  const valueNow = (ctx: KoaContextWithOIDC, error: unknown): string | undefined => {
    if (error !== undefined && !aboutTheSession.has(String(error))) return undefined;
    // A browser that keeps the session's cookie back in a frame is not signed out.
    if (error !== undefined && !ctx.cookies.get(ctx.oidc.provider.cookieName('session'), { signed: false })) return undefined;
    const { uid, accountId, loginTs } = sessionOf(ctx);
    if (!accountId || !ctx.oidc.account) return '';
    return createHmac('sha256', key)
      .update(JSON.stringify([uid, accountId, loginTs]))
      .digest('base64url');
  };

  return {
    clear,
    respond(ctx, redirectUri, error) {
      const given = ctx.cookies.get(name, { signed: false }) ?? '';
      const value = valueNow(ctx, error) ?? given;
      if (value === '') {
        if (given !== '') clear(ctx);
      } else if (value !== given || error === undefined) {
        // It ends with the session, which every success prolongs.
        ctx.cookies.set(name, value, { ...attributes, maxAge: sessionTtl(options, ctx.oidc.session) * 1000 });
      }
      return sessionState(ctx.oidc.client?.clientId ?? '', new URL(redirectUri).origin, value);
    },
  };
}

/** @see OpenID Connect Session Management 1.0 §4.2 */
function sessionState(clientId: string, origin: string, browserState: string): string {
  const salt = randomBytes(16).toString('base64url');
  return `${hash('sha256', `${clientId} ${origin} ${browserState} ${salt}`, 'base64url')}.${salt}`;
}
