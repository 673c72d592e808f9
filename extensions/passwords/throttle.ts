/** Rate limits of requests for mailed links. The rate limits count by the typed name and the address, before any look-up, like failed sign-ins. */
import { type Attempt, addressBlock, type ExtensionContext, minutesUntil } from '../../lib/extension-door.js';

export interface Throttle {
  /** Counts a request for a name. Returns the minutes to wait if there were too many. */
  request(attempt: Attempt, name: string, address: string): Promise<number | undefined>;
  /**
   * Counts a mailed link for a user, and returns whether there were too many. The page does not show the result, because the result would reveal that the
   * user exists.
   */
  isTooMany(attempt: Attempt, oid: string): Promise<boolean>;
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
  };
}
