/** How often a client asks for the outcome of one request, counted by all nodes together. */
import type { ExtensionContext } from '../../lib/extension-door.js';
import { MAX_LIFETIME_SECONDS, RETENTION_SECONDS } from './requests/record.js';

/** Seconds between two polls of one request. */
export const INTERVAL_SECONDS = 5;
/** What `slow_down` adds. @see CIBA Core §11 */
const STEP_SECONDS = 5;
/** Milliseconds by which a poll may arrive early, because the one before was late on its way. */
const JITTER_MS = 500;
const COUNTED_MS = (MAX_LIFETIME_SECONDS + RETENTION_SECONDS) * 1000;

/** Counts a poll; answers whether it came too early. Then the interval of the request is longer from now on. */
export type CountPoll = (id: string) => Promise<boolean>;

export function createCountPoll({ limits: { attempts } }: Pick<ExtensionContext, 'limits'>): CountPoll {
  const earlyPolls = async (id: string, increment: number): Promise<number> =>
    (await attempts(`ciba early polls ${id}`, COUNTED_MS, increment)).count;
  /** Counts a poll in the interval that follows so many early ones; the first begins it. */
  const isFirst = async (id: string, early: number): Promise<boolean> => {
    const interval = (INTERVAL_SECONDS + early * STEP_SECONDS) * 1000 - JITTER_MS;
    return (await attempts(`ciba polls ${id} ${early}`, interval)).count === 1;
  };
  return async (id) => {
    // The shortest interval counts whatever the longer one says, because of polls at once some come before that one has begun.
    const [early, isFirstOfAll] = await Promise.all([earlyPolls(id, 0), isFirst(id, 0)]);
    const isFirstNow = early === 0 || (await isFirst(id, early));
    if (isFirstOfAll && isFirstNow) return false;
    await isFirst(id, await earlyPolls(id, 1));
    return true;
  };
}
