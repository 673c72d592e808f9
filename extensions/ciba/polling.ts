/** Rate limit of the polls for the outcome of one request, counted on all nodes together. */
import type { ExtensionContext } from '../../lib/extension-door.js';
import { MAX_LIFETIME_SECONDS, RETENTION_SECONDS } from './requests/record.js';

/** Seconds between two polls of one request. */
export const INTERVAL_SECONDS = 5;
/** Seconds that `slow_down` adds to the interval. @see CIBA Core §11 */
const STEP_SECONDS = 5;
/** Milliseconds by which a poll may arrive early, because the previous poll may have been delayed on its way. */
const JITTER_MS = 500;
const COUNTED_MS = (MAX_LIFETIME_SECONDS + RETENTION_SECONDS) * 1000;

/** Counts a poll, and returns whether it came too early. An early poll extends the interval of the request. */
export type CountPoll = (id: string) => Promise<boolean>;

export function createCountPoll({ limits: { attempts } }: Pick<ExtensionContext, 'limits'>): CountPoll {
  const earlyPolls = async (id: string, increment: number): Promise<number> =>
    (await attempts(`ciba early polls ${id}`, COUNTED_MS, increment)).count;
  /** Counts a poll in the interval that applies after this many early polls. Returns whether it is the first poll, which starts the interval. */
  const isFirst = async (id: string, early: number): Promise<boolean> => {
    const interval = (INTERVAL_SECONDS + early * STEP_SECONDS) * 1000 - JITTER_MS;
    return (await attempts(`ciba polls ${id} ${early}`, interval)).count === 1;
  };
  return async (id) => {
    // The shortest interval is always checked, because concurrent polls may arrive before the longer interval has started.
    const [early, isFirstOfAll] = await Promise.all([earlyPolls(id, 0), isFirst(id, 0)]);
    const isFirstNow = early === 0 || (await isFirst(id, early));
    if (isFirstOfAll && isFirstNow) return false;
    await isFirst(id, await earlyPolls(id, 1));
    return true;
  };
}
