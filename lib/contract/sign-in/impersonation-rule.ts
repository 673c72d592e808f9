/**
 * The rule of an impersonation: whether the impersonation may continue, and what to do at its end. The rule belongs to the extension that began the
 * impersonation.
 */
import type { Awaitable } from '../../awaitable.js';
import type { SignIn } from './interaction.js';

/** An impersonation, as a session or a grant stores it. */
export interface ImpersonationSignIn {
  /** As in `impersonation` of the {@link SignIn}. */
  readonly name: string;
  /** Id of the impersonated user. */
  readonly oid: string;
  readonly act: NonNullable<SignIn['act']>;
}

/** The end of an impersonation. */
export interface ImpersonationEnding {
  /** Whether the impersonator asked for the end. */
  readonly isAsked: boolean;
  /** Id of the request that asked for the end. */
  readonly requestId?: string;
}

export interface ImpersonationRule {
  /**
   * Returns whether the impersonation may continue. Called at each use of the impersonation's session, grants and tokens. If this method throws, that use
   * fails.
   */
  mayGoOn(impersonation: ImpersonationSignIn): Awaitable<boolean>;
  /**
   * Prepares the end. Called before the impersonation, or the impersonator's own sign-in, ends. May be called twice, and by several nodes. If this method
   * throws, nothing ends.
   * @param name as in `impersonation` of the {@link SignIn}
   */
  ending(name: string, end: ImpersonationEnding): Awaitable<void>;
}
