/** Requests for links are counted as failed sign-ins are: by what was typed and where from, before anything is looked up. */
import { addressBlock, type ExtensionContext, HOUR_MS, minutesUntil } from '../../lib/extension-door.js';

export interface Throttle {
  /** Counts a request for a name; minutes to wait where there were too many. */
  request(name: string, address: string): Promise<number | undefined>;
  /** Counts a link for a user, whom nobody is told of; whether there were too many. */
  isTooMany(oid: string): Promise<boolean>;
}

/** Links that one user gets in an hour. */
const MOST_LINKS = 3;

export function createThrottle({ limits, service: { now } }: Pick<ExtensionContext, 'limits' | 'service'>): Throttle {
  const count = async (of: readonly string[], windowMs: number, limit: number): Promise<number | undefined> => {
    const { count: counted, resetsAt } = await limits.attempts(JSON.stringify(['link', ...of]), windowMs);
    return counted > limit ? minutesUntil(resetsAt, now) : undefined;
  };
  return {
    // First the narrow one: what it refuses does not count against everybody else at the address.
    async request(name, address) {
      const from = addressBlock(address);
      const minutes = await count(['name and address', name, from], limits.signInWindow * 1000, limits.signInFailures);
      return minutes ?? count(['address', from], HOUR_MS, limits.signInFailuresPerAddress);
    },
    isTooMany: async (oid) => (await count(['user', oid], HOUR_MS, MOST_LINKS)) !== undefined,
  };
}
