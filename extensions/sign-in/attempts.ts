/**
 * Rate limits for guesses of passwords. The rate limits that users notice count by the typed name and the address, before any look-up. So these rate limits
 * are the same for existing and unknown names. An account whose own rate limit is exceeded gets the answer for a wrong password.
 */
import { Attempt, addressBlock, type CountedAttempt, type ExtensionContext, minutesUntil } from '../../lib/extension-door.js';

/** An attempt to sign in with a name and a password. */
export interface PasswordAttempt extends Pick<Attempt, 'count' | 'run'> {
  /** Minutes to wait. Undefined while the attempt is within the rate limits that users notice. */
  readonly minutes: number | undefined;
  /**
   * Counts the attempt for the browser that signed in to these accounts before.
   * @param owners users whose credentials sign the accounts in
   * @returns the owners for whom the attempt is within the browser's own rate limit
   */
  countBrowser(browser: string, owners: readonly string[]): Promise<ReadonlySet<string>>;
  /** Counts the attempt for these owners, from any browser. Returns the owners whose rate limit is exceeded. */
  countOwners(owners: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Removes the attempt from the counts of the owners whose password was right, and from the count of its name and address. Resets the rate limit of the
   * browser.
   */
  succeeded(owners: ReadonlySet<string>): Promise<void>;
}

export interface Attempts {
  /** Counts an attempt. @param name result of `nameKey` */
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
      // Counts the narrow rate limit first, so that a refused attempt does not count against other users of the address.
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

/** Returns all results after every promise has settled. @throws the error of the first promise that failed */
async function settled<Result>(promises: readonly Promise<Result>[]): Promise<readonly Result[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
