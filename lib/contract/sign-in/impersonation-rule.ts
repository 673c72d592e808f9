/** The rule of an impersonation, from the extension that began it: whether the impersonation may continue, and what to do at its end. */
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
  /** Whether the impersonation may continue. Called at each use of its session, grants and tokens. If it throws, that use fails. */
  mayGoOn(impersonation: ImpersonationSignIn): Awaitable<boolean>;
  /**
   * Called before the impersonation, or the impersonator's own sign-in, ends. May be called twice, and by several nodes. If it throws, nothing ends.
   * @param name as in `impersonation` of the {@link SignIn}
   */
  ending(name: string, end: ImpersonationEnding): Awaitable<void>;
}
