import type { Context } from 'koa';
import type { AttemptLimitRules, NamedLimit } from '../attempt-limits.js';

/**
 * Counts a wrong secret or assertion for this id.
 * @param cause of the error, for the log
 * @throws IdpError `too_many_requests` past the limit.
 */
export type CountWrongSecret = (ctx: Context, id: string, cause?: unknown) => Promise<void>;

/** The group `limits` of the context: limits of attempts, and counters that all nodes share. */
export interface ExtensionLimits {
  /** The rules of the limits that the service has, by their names. */
  readonly rules: AttemptLimitRules;
  /** Returns a limit of attempts. A limit of the same name in another extension has its own counts. */
  readonly limit: NamedLimit;
  /**
   * Counts an attempt. Returns the number of attempts, including this attempt, and the time at which the count starts again.
   * @param counter a name that the extension chooses. The same name in another extension is another counter.
   * @param window milliseconds
   */
  attempts(counter: string, window: number, by?: number): Promise<{ count: number; resetsAt: Date }>;
  /** Counts a wrong secret of a client or an API resource. @throws IdpError `too_many_requests` past the limit. */
  readonly countWrongSecret: CountWrongSecret;
}
