/** Guessing passwords is slow: failures are counted before a password is looked at, so that parallel guesses count too. */
import type { ExtensionContext } from '../../lib/extension.js';

export interface Attempts {
  /** Counts one attempt. Refused: how long to wait, in minutes. Granted: what to call when it succeeded. */
  begin(identifier: string, address: string): Promise<{ readonly minutes: number } | { readonly succeeded: () => Promise<void> }>;
}

const HOUR = 3_600_000;

export function createAttempts({ attempts, limits }: Pick<ExtensionContext, 'attempts' | 'limits'>): Attempts {
  return {
    async begin(identifier, address) {
      const account = identifier.normalize('NFKC').toLowerCase();
      const count = async (name: readonly string[], window: number, limit: number) => {
        const counter = JSON.stringify(name);
        return { counter, window, limit, ...(await attempts(counter, window)) };
      };
      // First the narrow one: what it refuses is not evaluated, so it does not count against everybody else who uses the account or the address.
      const own = await count(['account and address', account, address], limits.signInWindow * 1000, limits.signInFailures);
      if (own.count > own.limit) return { minutes: minutesUntil(own.resetsAt) };
      const shared = await Promise.all([
        count(['account', account], HOUR, limits.signInFailuresPerAccount),
        count(['address', address], HOUR, limits.signInFailuresPerAddress),
      ]);
      const exceeded = shared.filter(({ count, limit }) => count > limit).map(({ resetsAt }) => resetsAt.getTime());
      if (exceeded.length > 0) return { minutes: minutesUntil(new Date(Math.max(...exceeded))) };
      return {
        async succeeded() {
          await Promise.all([
            attempts(own.counter, own.window, -own.count),
            ...shared.map(({ counter, window }) => attempts(counter, window, -1)),
          ]);
        },
      };
    },
  };
}

const minutesUntil = (instant: Date): number => Math.max(1, Math.ceil((instant.getTime() - Date.now()) / 60_000));
