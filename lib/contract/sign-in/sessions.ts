/** The sign-ins of users, for those who administer them. */
import type { ParentRef } from '../../directory/index.js';
import type { Attribution } from '../../events.js';

/** One browser in which a user is signed in. */
export interface UserSession {
  readonly id: string;
  readonly signedInAt: Date;
  /** When it ends unless it is used. */
  readonly expiresAt: Date;
  /** As in the claim. */
  readonly amr: readonly string[];
  readonly idp: string;
  /** Who acts as the user in it. */
  readonly act?: { readonly oid: string; readonly sub: string; readonly tid: string };
  /** Clients that got a grant out of it. */
  readonly clientIds: readonly string[];
}

/** A user, in a tenant. To another tenant there is no such user. */
export type UserRef = ParentRef;

/** Each call is about one user; `by` is who ends a sign-in, for the events. @throws IdpError `not_found`. */
export interface Sessions {
  /** Live ones, newest first. */
  list(user: UserRef): Promise<readonly UserSession[]>;
  /** Ends one with all its grants, and tells its clients. False when the user has no such session. */
  end(user: UserRef, id: string, by?: Attribution): Promise<boolean>;
  /** Signs the user out everywhere: voids every sign-in and every token before this moment, and tells the clients. */
  endAll(user: UserRef, by?: Attribution): Promise<void>;
  /**
   * Signs the user out everywhere, except in one session and its grants. Sign-ins to linked accounts by the same credential end too. A second call with
   * the same cause changes nothing.
   * @param spared the session, as {@link UserSession.id}, and a name of the cause
   */
  endOthers(user: UserRef, spared: { readonly session: string; readonly cause: string }, by?: Attribution): Promise<void>;
}
