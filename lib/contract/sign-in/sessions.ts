/** Sessions of users, for administrators. */
import type { ParentRef } from '../../directory/index.js';
import type { Attribution } from '../../events.js';

/** A session: one browser in which a user is signed in. */
export interface UserSession {
  readonly id: string;
  readonly signedInAt: Date;
  /** Time at which the session ends unless the session is used. */
  readonly expiresAt: Date;
  /** As in the claim `amr`. */
  readonly amr: readonly string[];
  readonly idp: string;
  /** The impersonator in the session. */
  readonly act?: { readonly oid: string; readonly sub: string; readonly tid: string };
  /** Ids of clients that have a grant of the session. */
  readonly clientIds: readonly string[];
}

/** A user in a tenant. With another tenant's id, the user is not found. */
export type UserRef = ParentRef;

/** Sessions of one user. `by` states who ended a session, for the events. @throws IdpError `not_found`. */
export interface Sessions {
  /** Returns live sessions, newest first. */
  list(user: UserRef): Promise<readonly UserSession[]>;
  /** Ends a session with all its grants, and notifies the clients of the session. Returns false if the user has no such session. */
  end(user: UserRef, id: string, by?: Attribution): Promise<boolean>;
  /** Signs the user out everywhere: revokes every sign-in and every token from before this moment, and notifies the clients. */
  endAll(user: UserRef, by?: Attribution): Promise<void>;
  /**
   * Signs the user out everywhere, except in one session and its grants. Sign-ins to linked accounts by the same credential end too. A second call with the
   * same cause changes nothing.
   * @param spared the session that continues, as {@link UserSession.id}, and a name of the cause
   */
  endOthers(user: UserRef, spared: { readonly session: string; readonly cause: string }, by?: Attribution): Promise<void>;
}
