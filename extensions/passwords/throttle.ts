/** Requests for links are counted as failed sign-ins are: by what was typed and where from, before anything is looked up. */
import { type Attempt, addressBlock, type ExtensionContext, minutesUntil } from '../../lib/extension-door.js';

export interface Throttle {
  /** Counts a request for a name. Returns the minutes to wait if there were too many. */
  request(attempt: Attempt, name: string, address: string): Promise<number | undefined>;
  /** Counts a link for a user, and returns whether there were too many. Nobody is told, because that would tell whether the user exists. */
  isTooMany(attempt: Attempt, oid: string): Promise<boolean>;
}

export function createThrottle({ limits: { limit }, service: { now } }: Pick<ExtensionContext, 'limits' | 'service'>): Throttle {
  return {
    async request(attempt, name, address) {
      const from = addressBlock(address);
      // The narrow limit is first, so that an attempt that it refuses does not count against everybody else at the address.
      const ofName = await attempt.count(limit('linksWithName'), name, from);
      const exceeded = ofName.isOver ? ofName : await attempt.count(limit('linksFromAddress'), from);
      return exceeded.isOver ? minutesUntil(exceeded.resetsAt, now) : undefined;
    },
    isTooMany: async (attempt, oid) => (await attempt.count(limit('linksOfUser'), oid)).isOver,
  };
}
