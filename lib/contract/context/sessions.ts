import type { Context } from 'koa';
import type { SignOutAsk } from '../sign-in/logout-participant.js';
import type { Sessions } from '../sign-in/sessions.js';

/** The group `sessions` of the context: sign-ins of users, to list and to end them. */
export interface ExtensionSessions extends Sessions {
  /**
   * Signs the browser out as the end-session endpoint does, for a route that knows by itself that the person wants it. Clients and participants are notified
   * before anything ends. Then session, grants and tokens end, and so does a session that was set aside.
   * @returns where the browser has to go: `next`, or what has to be called or visited on the way to it; undefined if the session is not of this browser, or ended
   */
  signOut(ctx: Context, ask: SignOutAsk): Promise<string | undefined>;
}
