/**
 * Rate limits of requests for mailed links, and of guesses of a current password. The rate limits of requests count by the typed name and the address,
 * before any look-up, like failed sign-ins.
 */
import { type Attempt, addressBlock, type ExtensionContext, minutesUntil } from '../../lib/extension-door.js';

export interface Throttle {
  /** Counts a request for a name. Returns the minutes to wait if there were too many. */
  request(attempt: Attempt, name: string, address: string): Promise<number | undefined>;
  /**
   * Counts a mailed link for a user, and returns whether there were too many. The page does not show the result, because the result would reveal that the
   * user exists.
   */
  isTooMany(attempt: Attempt, oid: string): Promise<boolean>;
  /**
   * Counts a guess of the current password of a signed-in user, by the session and by the user. A session has the limit of a browser that signed in before.
   */
  guess(attempt: Attempt, session: string, oid: string): Promise<Guess>;
}

/** A guess of a current password. */
export interface Guess {
  /** Minutes to wait if there were too many guesses. */
  readonly minutes: number | undefined;
  /** Removes the guess from the counts, because the password was correct. Resets the rate limit of the session. */
  succeeded(): Promise<void>;
}

export function createThrottle({ limits: { limit }, service: { now } }: Pick<ExtensionContext, 'limits' | 'service'>): Throttle {
  return {
    async request(attempt, name, address) {
      const from = addressBlock(address);
      // Counts the narrow rate limit first, so that a refused attempt does not count against other users of the address.
      const ofName = await attempt.count(limit('linksWithName'), name, from);
      const exceeded = ofName.isOver ? ofName : await attempt.count(limit('linksFromAddress'), from);
      return exceeded.isOver ? minutesUntil(exceeded.resetsAt, now) : undefined;
    },
    isTooMany: async (attempt, oid) => (await attempt.count(limit('linksOfUser'), oid)).isOver,
    async guess(attempt, session, oid) {
      const inSession = await attempt.count(limit('signInsInBrowser'), session, oid);
      const ofUser = inSession.isOver ? undefined : await attempt.count(limit('signInsToAccount'), oid);
      const exceeded = [inSession, ofUser].find((counted) => counted?.isOver);
      return {
        minutes: exceeded && minutesUntil(exceeded.resetsAt, now),
        async succeeded() {
          await Promise.all([inSession.giveBack(inSession.count), ofUser?.giveBack()]);
        },
      };
    },
  };
}
