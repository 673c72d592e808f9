import type { Context, Middleware } from 'koa';
import type { CurrentImpersonation } from '../sign-in/impersonation.js';

/** The group `impersonation` of the context: sign-ins of support agents as a user. */
export interface ExtensionImpersonation {
  /** The permission to impersonate, and whether impersonated users are notified: the option `impersonation`. */
  readonly rules?: { readonly permission: string; readonly notify?: boolean };
  /** Returns who impersonates whom in the browser, so that pages can show it. Looks up the sign-in only in browsers with a recent impersonation. */
  current(ctx: Context): Promise<CurrentImpersonation | undefined>;
  /**
   * Middleware for routes that only the user may use: set a password, link an account, accept an invitation, allow something. If the user is impersonated,
   * the middleware shows a page that states this, with status 403.
   */
  readonly inPerson: Middleware;
  /**
   * Ends the impersonation of this browser, with its session, grants and tokens. Clients are notified. The impersonator is signed in again as before. Call
   * this method for a posted form, and check the form's token first.
   * @param next a URL that the extension trusts
   * @returns where the browser has to go: `next`, or the page that first calls the clients in frames; undefined if nobody is impersonated here
   */
  end(ctx: Context, next: string): Promise<string | undefined>;
  /**
   * Ends the impersonation of this name in every browser, with its sessions, grants and tokens. Clients are notified over the back channel. The next
   * request of the impersonator's browser signs the impersonator in again as before.
   * @param oid the impersonated user
   * @param name as in `impersonation` of the sign-in
   */
  endOf(oid: string, name: string): Promise<void>;
}
