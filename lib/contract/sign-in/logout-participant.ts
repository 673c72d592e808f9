/** Participants in a logout: extensions that are notified when a sign-in ends, in addition to the clients of OpenID Connect. */
import type { Awaitable } from '../../awaitable.js';
import type { Account, Proof } from '../../directory/index.js';
import type { SignIn } from './interaction.js';
import type { SignedIn } from './requirement.js';

/** The current sign-in of a browser. */
export interface BrowserSignIn extends SignedIn {
  /** Name of the session, as in `sessions.list`. The name is not a credential. */
  readonly session: string;
  readonly account: Account;
  /** As in {@link SignedIn}. The owner is the child account itself if the child account's own credential was used before the account was linked. */
  readonly owner: string;
  /** As in {@link SignIn}. Pass the id on with `amr` if this sign-in starts another sign-in. */
  readonly mfaIn?: string;
  /** As in {@link SignIn}. Pass the id on with `mfaIn`. */
  readonly heldTo?: string;
  /**
   * Proof that was given at the sign-in. Pass the proof to `directory.credentials.holds` before an action that a new password must prevent, even if the
   * session continues.
   */
  readonly proof?: Proof;
  /** Name of the impersonation, if an extension gave it one. */
  readonly impersonation?: string;
  /** End of the sign-in, in seconds since the epoch, if it ends before its session: `endsAt` of the sign-in. */
  readonly endsAt?: number;
}

/** A sign-in that ends: at the end-session endpoint, because another person signs in, or by the service. */
export interface EndedSignIn {
  /** As in {@link BrowserSignIn}. */
  readonly session: string;
  /** Id of the user. */
  readonly oid: string;
  /** The `sub` of the sign-in, which linked accounts share. */
  readonly sub: string;
  /** `local`, or the external identity provider. */
  readonly idp: string;
  /** The impersonator. The impersonator's own sign-in continues, unless it ends too. */
  readonly act?: SignedIn['act'];
}

/** The sign-in of a browser, complete or not, that is about to end. */
export interface SignInToEnd extends EndedSignIn {
  /** Name of the impersonation, if an extension gave it a name. */
  readonly impersonation?: string;
}

/** A sign-out that the user in the browser asked for. */
export interface SignOutAsk {
  /**
   * The session that the extension saw, as in {@link BrowserSignIn}. A session with another name continues. Absent if no user is signed in. The sign-out
   * then only ends a sign-in that the browser has lost.
   */
  readonly session?: string;
  /** A URL that the extension trusts. @default the page that names the clients that did not answer */
  readonly next?: string;
}

/** A notice: JSON without secrets, because the notice waits in the queue of deliveries. */
export type LogoutNotice = Readonly<Record<string, unknown>>;

export interface LogoutParticipant {
  /**
   * Returns the notices to send by the queue of deliveries. Called before the sign-in ends, and maybe twice. The notices are sent after the sign-in ended.
   * If this method throws, nothing ends.
   */
  notices?(ended: EndedSignIn): Awaitable<readonly { readonly name: string; readonly notice: LogoutNotice }[]>;
  /** Sends one notice. If this method rejects, the notice is tried seven times in about eight hours. */
  send?(notice: LogoutNotice): Promise<void>;
  /** Returns http(s) URLs that hidden frames of the page after the sign-out call. The page shows `name` if a frame does not load. */
  frames?(ended: EndedSignIn): Awaitable<readonly { readonly name: string; readonly uri: string }[]>;
  /** Returns the URL that the browser visits after the sign-in ended, before `next`. Undefined: no URL. */
  visit?(ended: EndedSignIn, next: string): Awaitable<string | undefined>;
  /** Returns the names of the service providers that have not answered yet, for the page after the sign-out. */
  unanswered?(ended: EndedSignIn): Awaitable<readonly string[]>;
}
