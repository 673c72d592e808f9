/** Limits of attempts: maximum attempts of a kind in a window, counted by all nodes together. */
import type { Awaitable } from '../awaitable.js';
import { minutesUntil, secondsUntil } from '../times/time-left.js';

export interface LimitRule {
  /** Maximum attempts in a window. */
  readonly of: number;
  /** Milliseconds from the first attempt of a window to its end. */
  readonly in: number;
}

/** An attempt that was counted. */
export interface CountedAttempt {
  /** Attempts of the window, including this one. */
  readonly count: number;
  /** Whether the attempt exceeds the limit. Refuse the attempt if it does. */
  readonly isOver: boolean;
  /** Time at which the window ends. */
  readonly resetsAt: Date;
  /** Whole minutes until the window ends, at least one, as pages show them. */
  readonly minutes: number;
  /** Whole seconds until the window ends, at least one, as `Retry-After` has them. */
  readonly seconds: number;
  /**
   * Gives the attempt back, for example because the attempt succeeded. A second call does nothing.
   * @param by with `count`, all attempts of the window are given back. @default 1
   */
  giveBack(by?: number): Promise<void>;
  /**
   * Runs the counted attempt. Gives the attempt back if the attempt throws, because a failed store must not use up attempts. Return the result for a wrong
   * guess, and do not throw.
   */
  run<Outcome>(work: () => Awaitable<Outcome>): Promise<Outcome>;
}

/** A limit. Each key has its own count. */
export interface Limit {
  /**
   * Counts an attempt, before the attempt is evaluated, so that concurrent attempts count too.
   * @param key of the limited thing, such as the id of a user and an address block
   * @throws UnavailableError if the store is unavailable. The store may have recorded the count. When the store answers again, it takes this count back.
   */
  attempt(...key: readonly string[]): Promise<CountedAttempt>;
}

/** Returns a limit. @param name name of the limit */
export type CreateLimit = (name: string, rule: LimitRule) => Limit;

type CountAttempts = (counter: string, window: number, by?: number) => Promise<{ readonly count: number; readonly resetsAt: Date }>;

/** @param now the time that all nodes share, in milliseconds since the epoch */
export const createLimits =
  (attempts: CountAttempts, now: () => number): CreateLimit =>
  (name, { of: most, in: windowMs }) => ({
    async attempt(...key) {
      const counter = JSON.stringify([name, ...key]);
      const { count, resetsAt } = await attempts(counter, windowMs);
      let isGivenBack = false;
      const giveBack = async (by = 1): Promise<void> => {
        if (isGivenBack) return;
        isGivenBack = true;
        await attempts(counter, windowMs, -by);
      };
      return {
        count,
        isOver: count > most,
        resetsAt,
        get minutes() {
          return minutesUntil(resetsAt, now);
        },
        get seconds() {
          return secondsUntil(resetsAt, now);
        },
        giveBack,
        async run(work) {
          try {
            return await work();
          } catch (error) {
            await giveBack().catch(() => undefined);
            throw error;
          }
        },
      };
    },
  });
