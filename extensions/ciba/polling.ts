/** How often a client asks for the outcome of one request, counted by all nodes together. */
import type { ExtensionContext } from '../../lib/extension-door.js';
import { KEPT_SECONDS, MAX_LIFETIME_SECONDS } from './requests/record.js';

/** Seconds between two polls of one request. */
export const INTERVAL_SECONDS = 5;
/** What `slow_down` adds. @see CIBA Core §11 */
const STEP_SECONDS = 5;
/** Milliseconds by which a poll may arrive early, because the one before was late on its way. */
const JITTER_MS = 500;
const KEPT_MS = (MAX_LIFETIME_SECONDS + KEPT_SECONDS) * 1000;

/** Counts a poll; answers whether it came too early. Then the interval of the request is longer from now on. */
export type CountPoll = (id: string) => Promise<boolean>;

export function createCountPoll({ attempts }: Pick<ExtensionContext, 'attempts'>): CountPoll {
  const tooEarly = (id: string, by: number) => attempts(`ciba early polls ${id}`, KEPT_MS, by);
  /** Begins the interval that follows so many early polls, or finds it begun. */
  const begin = async (id: string, early: number): Promise<boolean> => {
    const interval = (INTERVAL_SECONDS + early * STEP_SECONDS) * 1000 - JITTER_MS;
    return (await attempts(`ciba polls ${id} ${early}`, interval)).count === 1;
  };
  return async (id) => {
    if (await begin(id, (await tooEarly(id, 0)).count)) return false;
    await begin(id, (await tooEarly(id, 1)).count);
    return true;
  };
}
