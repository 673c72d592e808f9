/** Guessing passwords is slow: failures are counted before a password is looked at, so that parallel guesses count too. */
import type { ExtensionContext } from '../../lib/extension.js';

export interface Attempts {
  /**
   * Counts one attempt at these accounts. Refused: how long to wait, in minutes.
   * @param accounts whose credentials are tried: linked accounts share theirs. Of a name that nobody has, the name, so that it is refused alike.
   */
  begin(accounts: readonly string[], address: string): Promise<{ readonly minutes: number } | Granted>;
}

interface Granted {
  /** Earlier failures at these accounts from this address are forgotten. */
  succeeded(): Promise<void>;
  /** Nothing was looked at: this attempt does not count. */
  withdrawn(): Promise<void>;
}

const HOUR = 3_600_000;

export function createAttempts({ attempts, limits }: Pick<ExtensionContext, 'attempts' | 'limits'>): Attempts {
  return {
    async begin(accounts, address) {
      const count = async (name: readonly string[], window: number, limit: number) => {
        const counter = JSON.stringify(name);
        return { counter, window, limit, ...(await attempts(counter, window)) };
      };
      // First the narrow one: what it refuses is not evaluated, so it does not count against everybody else who uses the account or the address.
      const own = await Promise.all(
        accounts.map((account) => count(['account and address', account, address], limits.signInWindow * 1000, limits.signInFailures)),
      );
      const refused = exceeded(own);
      if (refused) return refused;
      const shared = await Promise.all([
        ...accounts.map((account) => count(['account', account], HOUR, limits.signInFailuresPerAccount)),
        count(['address', address], HOUR, limits.signInFailuresPerAddress),
      ]);
      const refusedToAll = exceeded(shared);
      if (refusedToAll) return refusedToAll;
      const giveBack = async (byOwn: (count: number) => number): Promise<void> => {
        await Promise.all([
          ...own.map((each) => attempts(each.counter, each.window, -byOwn(each.count))),
          ...shared.map(({ counter, window }) => attempts(counter, window, -1)),
        ]);
      };
      return { succeeded: () => giveBack((count) => count), withdrawn: () => giveBack(() => 1) };
    },
  };
}

interface Counted {
  readonly count: number;
  readonly limit: number;
  readonly resetsAt: Date;
}

function exceeded(counted: readonly Counted[]): { readonly minutes: number } | undefined {
  const ends = counted.filter(({ count, limit }) => count > limit).map(({ resetsAt }) => resetsAt.getTime());
  return ends.length === 0 ? undefined : { minutes: Math.max(1, Math.ceil((Math.max(...ends) - Date.now()) / 60_000)) };
}
