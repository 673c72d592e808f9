/** Sessions of users, as users and administrators see them. */
import type { ParentRef, Spared } from '../../directory/index.js';
import type { Attribution, SignOutReason } from '../../events.js';

/** A session: one browser in which a user is signed in, or a sign-in without a browser. */
export interface UserSession {
  /** Id of the session, for {@link Sessions.end}. The id is not a credential. */
  readonly id: string;
  /** False for a grant that is a sign-in by itself, such as a grant of CIBA. The grant then belongs to the client alone, and has no members of a browser. */
  readonly inBrowser: boolean;
  /** Time at which the user proved the sign-in. */
  readonly signedInAt: Date;
  /**
   * Time of the last request of the browser, up to a twentieth of `lifetimes.sessionIdle` too early. Absent if the time is unknown: near the end of
   * `lifetimes.sessionAbsolute`, and in sessions that end at a fixed time.
   */
  readonly lastUsedAt?: Date;
  /** Time at which the session ends unless the session is used. */
  readonly expiresAt: Date;
  /** Methods of the sign-in, as in the claim `amr`. @see RFC 8176 */
  readonly amr: readonly string[];
  /** Identity provider of the sign-in, as in the claim `idp`. */
  readonly idp: string;
  /** Name of the browser that signed in, such as `Firefox`. In an impersonation, the browser is the impersonator's. Absent for an unknown browser. */
  readonly browser?: string;
  /** Name of the operating system of {@link browser}, such as `Windows`. */
  readonly system?: string;
  /** IP address of the browser when it signed in: the part that the option `sessions.address` allowed then. */
  readonly address?: string;
  /** The impersonator in the session. */
  readonly act?: { readonly oid: string; readonly sub: string; readonly tid: string };
  /** Ids of clients that have a grant of the session for this user. */
  readonly clientIds: readonly string[];
}

/** A client that a user is signed in to: the client has a grant of the user, in a session or without one. Pages of the service do not count. */
export interface SignedInClient {
  readonly clientId: string;
  /**
   * True for an internal client of an extension, such as a SAML service provider. The service cannot sign the user out of such a client, because the client
   * has no tokens, and gets no notification over the back channel.
   */
  readonly isInternal?: true;
  /** Time of the earliest sign-in among the grants of the client. */
  readonly signedInAt: Date;
}

/** A user in a tenant. With another tenant's id, the user is not found. */
export type UserRef = ParentRef;

/** Sessions of one user. `by` states who ended a session, for the events. @throws IdpError `not_found`. */
export interface Sessions {
  /** Returns live sessions, newest first. */
  list(user: UserRef): Promise<readonly UserSession[]>;
  /** Ends a session with all its grants, and notifies the clients of the session. Returns false if the user has no such session. */
  end(user: UserRef, id: string, by?: Attribution): Promise<boolean>;
  /**
   * Signs the user out everywhere: revokes every sign-in and every token from before this moment, and notifies the clients.
   * @param reason the change that requires the sign-out, if the user is notified of that change. @default the user is notified of the sign-out
   */
  endAll(user: UserRef, by?: Attribution, reason?: SignOutReason): Promise<void>;
  /**
   * Signs the user out everywhere, except in one session and its grants. Sign-ins to linked accounts by the same credential end too. A second call with the
   * same cause changes nothing.
   * A cut-off by another actor, before this call or after it, ends the session too.
   * @param reason as in {@link endAll}
   */
  endOthers(user: UserRef, spared: Spared, by?: Attribution, reason?: SignOutReason): Promise<void>;
  /** Returns the clients that the user is signed in to, in the order of their first sign-ins. */
  clients(user: UserRef): Promise<readonly SignedInClient[]>;
  /**
   * Ends all grants and tokens of one client for the user, in all sessions, and notifies the client over the back channel. Withdraws the consent of the user,
   * if there is one. The sessions, and the grants of other clients, continue. Returns false if the client has neither a consent nor a grant, and for an internal
   * client of an extension.
   */
  endClient(user: UserRef, clientId: string, by?: Attribution): Promise<boolean>;
}
