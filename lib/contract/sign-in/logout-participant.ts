/** Who has to hear of the end of a sign-in, beside the applications that OpenID Connect tells. */
import type { Awaitable } from '../../awaitable.js';
import type { Account, Proof } from '../../directory/index.js';
import type { SignIn } from './interaction.js';
import type { SignedIn } from './requirement.js';

/** The sign-in of a browser, as it is now. */
export interface BrowserSignIn extends SignedIn {
  /** Names the session, as `sessions.list` does; it opens nothing. */
  readonly session: string;
  readonly account: Account;
  /** As in {@link SignedIn}: the child itself where its own credential signed it in before it was linked. */
  readonly owner: string;
  /** As in {@link SignIn}: hand it on with `amr` where the sign-in is to begin another one. */
  readonly mfaIn?: string;
  /** As in {@link SignIn}: pass it with `mfaIn`. */
  readonly heldTo?: string;
  /** As it was given at the sign-in. Pass it to `directory.credentials.holds` before an act that a new password must prevent, even if the session continues. */
  readonly proof?: Proof;
  /** The name of its impersonation, where an extension gave it one. */
  readonly impersonation?: string;
  /** When the sign-in ends by itself, in seconds since the epoch, where it does so before its session: as `endsAt` of the sign-in says. */
  readonly endsAt?: number;
}

/** A sign-in that ends: at the end-session endpoint, by another person's, or by the service. */
export interface EndedSignIn {
  /** As in {@link BrowserSignIn}. */
  readonly session: string;
  /** The user that it was of. */
  readonly oid: string;
  /** The `sub` of the sign-in, which linked accounts share. */
  readonly sub: string;
  /** `local`, or the external identity provider. */
  readonly idp: string;
  /** Who acted as the user: they go on as themself, unless their own sign-in ends with it. */
  readonly act?: SignedIn['act'];
}

/** The sign-in of a browser, complete or not, for ending it. */
export interface SignInToEnd extends EndedSignIn {
  /** The name of its impersonation, if an extension gave one. */
  readonly impersonation?: string;
}

/** A sign-out that the person of the browser wants. */
export interface SignOutAsk {
  /**
   * The session that the caller looked at, as in {@link BrowserSignIn}: another one goes on. Absent where nobody is signed in. Then the sign-out only voids a
   * sign-in that the browser lost.
   */
  readonly session?: string;
  /** A URL that the caller trusts. @default the page that says who did not answer */
  readonly next?: string;
}

/** What is told: JSON. It waits in the queue, so it holds no secrets. */
export type LogoutNotice = Readonly<Record<string, unknown>>;

export interface LogoutParticipant {
  /**
   * Whom to tell, by the durable queue: asked before the sign-in ends, and perhaps twice, and told after. Where it throws, nothing ends.
   */
  notices?(ended: EndedSignIn): Awaitable<readonly { readonly name: string; readonly notice: LogoutNotice }[]>;
  /** Tells one. Rejects when it was not taken: tried seven times in about eight hours. */
  send?(notice: LogoutNotice): Promise<void>;
  /** Addresses that a hidden frame of the page after the sign-out calls; http or https. `name` is shown when one does not load. */
  frames?(ended: EndedSignIn): Awaitable<readonly { readonly name: string; readonly uri: string }[]>;
  /** Where the browser goes once the sign-in is over, and from there to `next`; undefined: nowhere. */
  visit?(ended: EndedSignIn, next: string): Awaitable<string | undefined>;
  /** Names of those that did not answer so far: asked for the page after the sign-out. */
  unanswered?(ended: EndedSignIn): Awaitable<readonly string[]>;
}
