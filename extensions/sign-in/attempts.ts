/**
 * Guessing passwords is slow, and tells nothing. What anybody sees is counted by what was typed and where from, before anything is looked up:
 * the same for names that exist and names that do not. What is counted by account is answered like a wrong password.
 */
import { addressBlock, type ExtensionContext, HOUR_MS, minutesUntil } from '../../lib/extension-door.js';

export interface Attempts {
  /**
   * Counts an attempt, so that attempts at the same time count too.
   * @param name as names are compared.
   */
  begin(name: string, address: string): Promise<Attempt>;
}

/** One attempt. What counts it is given back, each one by one, and only what counted it. */
export interface Attempt {
  /** How long to wait; undefined while the attempt is within the limits that anybody sees. */
  readonly minutes: number | undefined;
  /**
   * Counts it for the browser that signed in to these accounts before. Those for whom it is within a budget of its own.
   * @param owners whose credentials sign them in.
   */
  countBrowser(browser: string, owners: readonly string[]): Promise<ReadonlySet<string>>;
  /** Counts it for these, from wherever. Those who have had too many. */
  countOwners(owners: readonly string[]): Promise<ReadonlySet<string>>;
  /** It was the password of these: it does not count for them, nor where it came from, and the browser's budget is whole again. */
  succeeded(owners: ReadonlySet<string>): Promise<void>;
  /** Nothing was looked at. */
  withdrawn(): Promise<void>;
}

export function createAttempts({ limits, service: { now } }: Pick<ExtensionContext, 'limits' | 'service'>): Attempts {
  const count = async (name: readonly string[], windowMs: number, limit: number): Promise<Counted> => {
    const counter = JSON.stringify(name);
    const counted = await limits.attempts(counter, windowMs);
    let isGivenBack = false;
    return {
      ...counted,
      limit,
      async giveBack(by = 1) {
        if (isGivenBack) return;
        isGivenBack = true;
        await limits.attempts(counter, windowMs, -by);
      },
    };
  };
  /** Counts each name, into a map that has those that were counted even if another one fails. */
  const countEach = async (names: readonly string[], into: Map<string, Counted>, counted: (name: string) => Promise<Counted>) => {
    const outcomes = await Promise.allSettled(names.map(async (name) => void into.set(name, await counted(name))));
    const failed = outcomes.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
    if (failed) throw failed.reason;
  };
  const windowMs = limits.signInWindow * 1000;

  return {
    async begin(name, address) {
      const from = addressBlock(address);
      const seen: Counted[] = [];
      try {
        // First the narrow one: what it refuses is not evaluated, so it does not count against everybody else at the address.
        seen.push(await count(['name and address', name, from], windowMs, limits.signInFailures));
        if (seen.every(isWithin)) seen.push(await count(['address', from], HOUR_MS, limits.signInFailuresPerAddress));
      } catch (error) {
        await Promise.allSettled(seen.map(({ giveBack }) => giveBack()));
        throw error;
      }
      const budgets = new Map<string, Counted>();
      const byOwner = new Map<string, Counted>();
      return {
        minutes: seen.every(isWithin) ? undefined : minutesOf(seen, now),

        async countBrowser(browser, owners) {
          await countEach(owners, budgets, (owner) => count(['browser', browser, owner], windowMs, limits.signInFailures));
          return new Set(owners.filter((owner) => isWithin(budgets.get(owner))));
        },

        async countOwners(owners) {
          await countEach(owners, byOwner, (owner) => count(['owner', owner], HOUR_MS, limits.signInFailuresPerAccount));
          return new Set(owners.filter((owner) => !isWithin(byOwner.get(owner))));
        },

        async succeeded(owners) {
          const of = (counted: ReadonlyMap<string, Counted>) => [...owners].flatMap((owner) => counted.get(owner) ?? []);
          await Promise.all([
            ...[...seen, ...of(byOwner)].map(({ giveBack }) => giveBack()),
            ...of(budgets).map(({ giveBack, count: all }) => giveBack(all)),
          ]);
        },

        async withdrawn() {
          await Promise.allSettled([...seen, ...budgets.values(), ...byOwner.values()].map(({ giveBack }) => giveBack()));
        },
      };
    },
  };
}

interface Counted {
  readonly count: number;
  readonly limit: number;
  readonly resetsAt: Date;
  giveBack(by?: number): Promise<void>;
}

const isWithin = (counted: Pick<Counted, 'count' | 'limit'> | undefined): boolean =>
  counted === undefined || counted.count <= counted.limit;

/** Until the last of those that are beyond their limit begins anew. */
const minutesOf = (counted: readonly Counted[], now: () => number): number => {
  const ends = counted.filter((each) => !isWithin(each)).map(({ resetsAt }) => resetsAt.getTime());
  return minutesUntil(new Date(Math.max(...ends)), now);
};
