/** Server-side sessions: the browser holds a random id, never a token. */
import { randomBytes } from 'node:crypto';
import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import type { IDToken, TokenEndpointResponse } from 'openid-client';

/** What the callback is checked against. */
interface PendingSignIn {
  readonly nonce: string;
  readonly codeVerifier: string;
}

export interface SignedIn {
  /** The last token response, and when it came. */
  readonly tokens: TokenEndpointResponse;
  readonly claims: IDToken;
  readonly receivedAt: Date;
  readonly refreshes: number;
  /** What the orders API answered last. */
  readonly orders?: { readonly status: number; readonly body: unknown };
}

export interface Session {
  /** By `state`; several tabs may sign in at once. */
  readonly pending: LRUCache<string, PendingSignIn>;
  signedIn?: SignedIn;
}

const cookie = 'order_desk';
const sessions = new LRUCache<string, Session>({ max: 1000, ttl: 12 * 60 * 60 * 1000 });

export const sessionOf = (ctx: Context): Session | undefined => sessions.get(ctx.cookies.get(cookie) ?? '');

/** A session under a new id; the one before is gone. */
export function startSession(ctx: Context, signedIn?: SignedIn): Session {
  endSession(ctx);
  const session: Session = { pending: new LRUCache({ max: 10 }), ...(signedIn ? { signedIn } : {}) };
  const id = randomBytes(32).toString('base64url');
  sessions.set(id, session);
  ctx.cookies.set(cookie, id, { httpOnly: true, sameSite: 'lax', overwrite: true });
  return session;
}

export function endSession(ctx: Context): void {
  sessions.delete(ctx.cookies.get(cookie) ?? '');
  ctx.cookies.set(cookie, null, { overwrite: true });
}
