/** Counters of attempts, which all nodes share. */
import type { ExtensionLimits } from '../contract/context/limits.js';
import { UnavailableError } from '../errors.js';
import { hashedKey } from '../store/artifact-key.js';
import type { ArtifactKey, ArtifactStore } from '../store/artifact-store.js';
import { OwedWrites } from '../store/outages/owed-writes.js';

/** Maximum count that one counter gets back after an outage. The number is limited, because it is unknown whether a call that failed was counted. */
const MOST_OF_ONE = 10;

interface Owed {
  readonly window: number;
  readonly count: number;
  /** The time at which the window has ended in any case, by `performance.now`. */
  readonly until: number;
}

export interface SharedAttempts {
  readonly attempts: ExtensionLimits['attempts'];
  /** Stops the wait for the store. */
  close(): Promise<void>;
}

/**
 * Counts attempts. An attempt that fails because the store is unavailable does not count. After the store answers again, the counter gets back what may
 * have been counted. A counter never falls below 0, so an outage cannot save up attempts.
 */
export function createAttempts(artifacts: Pick<ArtifactStore, 'hit'>): SharedAttempts {
  const owed = new OwedWrites<ArtifactKey, Owed>(repay);

  /**
   * Gives back what a counter is owed. Returns false while the store is unavailable. A call that fails after the store answered is not repeated, because
   * the store may have counted the call.
   */
  async function repay(key: ArtifactKey, { window, until }: Owed): Promise<boolean> {
    const answered = await artifacts.hit(key, window, 0).catch(() => undefined);
    if (!answered && performance.now() < until) return false;
    // More may be owed since the store was asked.
    const { count } = owed.take(key) ?? { count: 0 };
    if (answered && count > 0) await artifacts.hit(key, window, -count).catch(() => undefined);
    return true;
  }

  function owe(key: ArtifactKey, window: number, count: number): void {
    const before = owed.get(key)?.count ?? 0;
    owed.owe(key, { window, count: Math.min(before + count, MOST_OF_ONE), until: performance.now() + window });
  }

  return {
    async attempts(counter, window, by = 1) {
      const key = hashedKey('Attempts', counter);
      // The next attempt must not be refused because of attempts that do not count.
      await owed.repay(key);
      try {
        const { count, resetsAt } = await artifacts.hit(key, window, by);
        return { count, resetsAt: new Date(resetsAt) };
      } catch (error) {
        if (by !== 0 && error instanceof UnavailableError) owe(key, window, Math.abs(by));
        throw error;
      }
    },
    close: () => owed.close(),
  };
}
