import type { Context } from 'koa';
import type { AttemptLimitRules, NamedLimit } from '../attempt-limits.js';

/**
 * Counts a secret or an assertion that was wrong for this id.
 * @param cause of the error, for the log
 * @throws IdpError `too_many_requests` past the limit.
 */
export type CountWrongSecret = (ctx: Context, id: string, cause?: unknown) => Promise<void>;

/** The group `limits` of the context: limits of attempts, and counters that all nodes share. */
export interface ExtensionLimits {
  /** The rules of the limits that the service has, by their names. */
  readonly rules: AttemptLimitRules;
  /** Returns a limit of attempts. Another extension counts apart under the same name. */
  readonly limit: NamedLimit;
  /**
   * Counts an attempt, and returns how many there are with this one, and when the count starts again.
   * @param counter a name of the extension's own: another extension counts apart under the same name
   * @param window milliseconds
   */
  attempts(counter: string, window: number, by?: number): Promise<{ count: number; resetsAt: Date }>;
  /** Counts a wrong secret of a client or an API resource. @throws IdpError `too_many_requests` past the limit. */
  readonly countWrongSecret: CountWrongSecret;
}
