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
      const counters = [
        { name: `sign-in of ${account} from ${address}`, window: limits.signInWindow * 1000, limit: limits.signInFailures },
        { name: `sign-in of ${account}`, window: HOUR, limit: limits.signInFailuresPerAccount },
        { name: `sign-in from ${address}`, window: HOUR, limit: limits.signInFailuresPerAddress },
      ];
      const counted = await Promise.all(
        counters.map(async (counter) => ({ ...counter, ...(await attempts(counter.name, counter.window)) })),
      );
      const exceeded = counted.filter(({ count, limit }) => count > limit).map(({ resetsAt }) => resetsAt.getTime());
      if (exceeded.length > 0) return { minutes: Math.max(1, Math.ceil((Math.max(...exceeded) - Date.now()) / 60_000)) };
      return {
        async succeeded() {
          const [own, ...others] = counted;
          await Promise.all([
            own && attempts(own.name, own.window, -own.count),
            ...others.map(({ name, window }) => attempts(name, window, -1)),
          ]);
        },
      };
    },
  };
}
