/** Sign-ins with `act`, for the extension that began them: whether they may go on, and when they end. */
import type { Awaitable } from '../../awaitable.js';
import type { SignIn } from './interaction.js';

/** A sign-in with `act`, as a session or a grant keeps it. */
export interface ImpersonationSignIn {
  /** As in `impersonation` of the {@link SignIn}. */
  readonly name: string;
  /** The user. */
  readonly oid: string;
  readonly act: NonNullable<SignIn['act']>;
}

/** How a sign-in with `act` comes to its end. */
export interface ImpersonationEnding {
  /** Whether who acts asked for it: `endImpersonation`. */
  readonly isAsked: boolean;
  /** The request that asked. */
  readonly requestId?: string;
}

export interface ImpersonationRule {
  /** Whether it may go on: asked at each use of its session, grants and tokens. Where it throws, the use fails with it. */
  mayGoOn(impersonation: ImpersonationSignIn): Awaitable<boolean>;
  /**
   * The sign-in is about to end, or that of who acts: perhaps told twice, and by several nodes. Where it throws, nothing ends.
   * @param name as in `impersonation` of the {@link SignIn}
   */
  ending(name: string, end: ImpersonationEnding): Awaitable<void>;
}
