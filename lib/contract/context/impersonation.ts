import type { Context, Middleware } from 'koa';
import type { CurrentImpersonation } from '../sign-in/impersonation.js';

/** The group `impersonation` of the context: sign-ins of support agents as a user. */
export interface ExtensionImpersonation {
  /** The permission to impersonate, and whether impersonated users are notified: the option `impersonation`. */
  readonly rules?: { readonly permission: string; readonly notify?: boolean };
  /** Returns who impersonates whom in the browser, for its pages to show it. It looks the sign-in up only in browsers with a recent impersonation. */
  current(ctx: Context): Promise<CurrentImpersonation | undefined>;
  /**
   * Middleware for routes on which people do what nobody may do in their name: set a password, link an account, accept an invitation, allow something. If the
   * user is impersonated, it shows a page that says so, with status 403.
   */
  readonly inPerson: Middleware;
  /**
   * Ends the impersonation of this browser: its session, grants and tokens. Clients are notified, and the impersonator is signed in again as before. Call it
   * for a form that was posted, and check the form's token first.
   * @param next a URL that the caller trusts
   * @returns where the browser has to go: `next`, or the page that calls the clients in frames on the way to it; undefined if nobody is impersonated here
   */
  end(ctx: Context, next: string): Promise<string | undefined>;
  /**
   * Ends the impersonation of this name wherever it is: its sessions, grants and tokens. Clients are notified over the back channel. The impersonator is signed
   * in again as before by the next request of their browser.
   * @param oid the impersonated user
   * @param name as in `impersonation` of the sign-in
   */
  endOf(oid: string, name: string): Promise<void>;
}
