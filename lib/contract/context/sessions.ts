import type { Context } from 'koa';
import type { SignOutAsk } from '../sign-in/logout-participant.js';
import type { Sessions } from '../sign-in/sessions.js';

/** The group `sessions` of the context: sign-ins of users, to list and to end them. */
export interface ExtensionSessions extends Sessions {
  /**
   * Signs the browser out as the end-session endpoint does, without asking the user. The route has to know that the user wants to sign out. Clients and
   * participants are notified before anything ends. Then the session, its grants and its tokens end. A session that was set aside ends too.
   * @returns where the browser has to go: `next`, or the page or URL that has to be visited first; undefined if the session is not of this browser, or
   * ended
   */
  signOut(ctx: Context, ask: SignOutAsk): Promise<string | undefined>;
}
