import type { CountWrongSecret } from '../../http/clients/wrong-secrets.js';

/** The group `limits` of the context: limits of the options, and counters that all nodes share. */
export interface ExtensionLimits {
  readonly signInFailures: number;
  readonly signInWindow: number;
  readonly signInFailuresPerAccount: number;
  readonly signInFailuresPerAddress: number;
  readonly adminRequestsPerMinute: number;
  readonly authenticationRequestsPerMinute: number;
  /**
   * Counts an attempt, and returns how many there are with this one, and when the count starts again.
   * @param counter a name of the extension's own: another extension counts apart under the same name
   * @param window milliseconds
   */
  attempts(counter: string, window: number, by?: number): Promise<{ count: number; resetsAt: Date }>;
  /** Counts a wrong secret of a client or an API resource. @throws IdpError `too_many_requests` past the limit. */
  readonly countWrongSecret: CountWrongSecret;
}
