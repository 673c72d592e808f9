/** Server-side sessions: the browser holds a random id, never a token. */
import { randomBytes } from 'node:crypto';
import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import type { IDToken, TokenEndpointResponse } from 'openid-client';

/** Values that the callback checks. */
interface PendingSignIn {
  readonly nonce: string;
  readonly codeVerifier: string;
}

export interface SignedIn {
  /** The last token response, and the time of the response. */
  readonly tokens: TokenEndpointResponse;
  readonly claims: IDToken;
  readonly receivedAt: Date;
  readonly refreshes: number;
  /** Last answer of the orders API. */
  readonly orders?: { readonly status: number; readonly body: unknown };
}

export interface Session {
  /** Pending sign-ins by `state`, because several tabs may sign in at the same time. */
  readonly pending: LRUCache<string, PendingSignIn>;
  signedIn?: SignedIn;
}

/** Returns the name of the session cookie. Browsers send a cookie to every port of a host, so demos on other ports use other names. */
const cookieOf = ({ socket }: Context): string => `order_desk_${socket.localPort}`;
const sessions = new LRUCache<string, Session>({ max: 1000, ttl: 12 * 60 * 60 * 1000 });

export const sessionOf = (ctx: Context): Session | undefined => sessions.get(ctx.cookies.get(cookieOf(ctx)) ?? '');

/** Starts a session under a new id, and removes the previous session. */
export function startSession(ctx: Context, signedIn?: SignedIn): Session {
  endSession(ctx);
  const session: Session = { pending: new LRUCache({ max: 10 }), ...(signedIn ? { signedIn } : {}) };
  const id = randomBytes(32).toString('base64url');
  sessions.set(id, session);
  ctx.cookies.set(cookieOf(ctx), id, { httpOnly: true, sameSite: 'lax', overwrite: true });
  return session;
}

export function endSession(ctx: Context): void {
  sessions.delete(ctx.cookies.get(cookieOf(ctx)) ?? '');
  ctx.cookies.set(cookieOf(ctx), null, { overwrite: true });
}
