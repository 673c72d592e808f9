/**
 * Limits for guesses of passwords. Limits that callers notice count by what was typed and where from, before anything is looked up: the same for names that exist
 * and names that do not. An account whose own limit is exceeded is answered like a wrong password.
 */
import { Attempt, addressBlock, type CountedAttempt, type ExtensionContext, minutesUntil } from '../../lib/extension-door.js';

/** An attempt to sign in with a name and a password. */
export interface PasswordAttempt extends Pick<Attempt, 'count' | 'run'> {
  /** Minutes to wait; undefined while the attempt is within the limits that callers notice. */
  readonly minutes: number | undefined;
  /**
   * Counts the attempt for the browser that signed in to these accounts before.
   * @param owners users whose credentials sign the accounts in
   * @returns the owners for whom the attempt is within the browser's own limit
   */
  countBrowser(browser: string, owners: readonly string[]): Promise<ReadonlySet<string>>;
  /** Counts the attempt for these owners, wherever it comes from. Returns the owners whose limit is exceeded. */
  countOwners(owners: readonly string[]): Promise<ReadonlySet<string>>;
  /** Takes the attempt back for the owners whose password it was, and for its name and address. The limit of the browser starts again. */
  succeeded(owners: ReadonlySet<string>): Promise<void>;
}

export interface Attempts {
  /** Counts an attempt. @param name as names are compared */
  begin(name: string, address: string): Promise<PasswordAttempt>;
}

type ByOwner = ReadonlyMap<string, CountedAttempt>;

export function createAttempts({ limits: { limit }, service: { now } }: Pick<ExtensionContext, 'limits' | 'service'>): Attempts {
  const [ofName, ofAddress, ofBrowser, ofOwner] = [
    limit('signInsWithName'),
    limit('signInsFromAddress'),
    limit('signInsInBrowser'),
    limit('signInsToAccount'),
  ];
  return {
    async begin(name, address) {
      const from = addressBlock(address);
      const attempt = new Attempt();
      // The narrow limit is first, so that an attempt that it refuses does not count against everybody else at the address.
      const seen = [await attempt.count(ofName, name, from)];
      if (!seen[0]?.isOver) seen.push(await attempt.count(ofAddress, from));
      const exceeded = seen.find(({ isOver }) => isOver);
      const countEach = async (owners: readonly string[], count: (owner: string) => Promise<CountedAttempt>): Promise<ByOwner> =>
        new Map(await settled(owners.map(async (owner) => [owner, await count(owner)] as const)));
      let inBrowser: ByOwner = new Map();
      let byOwner: ByOwner = new Map();
      return {
        minutes: exceeded && minutesUntil(exceeded.resetsAt, now),
        count: (...counted) => attempt.count(...counted),
        run: (step) => attempt.run(step),
        async countBrowser(browser, owners) {
          inBrowser = await countEach(owners, (owner) => attempt.count(ofBrowser, browser, owner));
          return new Set(owners.filter((owner) => !inBrowser.get(owner)?.isOver));
        },
        async countOwners(owners) {
          byOwner = await countEach(owners, (owner) => attempt.count(ofOwner, owner));
          return new Set(owners.filter((owner) => byOwner.get(owner)?.isOver));
        },
        async succeeded(owners) {
          const among = (counts: ByOwner) => [...owners].flatMap((owner) => counts.get(owner) ?? []);
          await Promise.all([
            ...[...seen, ...among(byOwner)].map((each) => each.giveBack()),
            ...among(inBrowser).map((each) => each.giveBack(each.count)),
          ]);
        },
      };
    },
  };
}

/** Returns all results once every promise is settled. @throws what the first one that failed threw */
async function settled<Result>(promises: readonly Promise<Result>[]): Promise<readonly Result[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
