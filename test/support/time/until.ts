import { setTimeout as sleep } from 'node:timers/promises';
import { LIMIT_MS } from './in-time.js';

const PAUSE_MS = 20;
/** The longest pause. A shorter pause would help little, because each look takes CPU time from the awaited work. */
const LONG_PAUSE_MS = 250;

/**
 * Returns the result of `find` when the result passes `isMeant`.
 * @param pauseMs milliseconds after each failure. @default a tenth of the time so far, from 20 to 250 milliseconds
 * @throws Error with the last result.
 */
export async function until<T>(find: () => T | Promise<T>, isMeant: (found: T) => unknown = Boolean, pauseMs?: number): Promise<T> {
  for (const start = performance.now(); ; ) {
    const found = await find();
    if (isMeant(found)) return found;
    const took = performance.now() - start;
    if (took > LIMIT_MS) throw new Error(`It did not come to be; in the end it was ${JSON.stringify(found)}.`);
    await sleep(pauseMs ?? Math.min(Math.max(took / 10, PAUSE_MS), LONG_PAUSE_MS));
  }
}
