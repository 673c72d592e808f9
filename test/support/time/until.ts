import { setTimeout as sleep } from 'node:timers/promises';

/** A limit against hanging, not a bound that anything has to keep: a busy machine takes many times as long as a quiet one. */
const LIMIT_MS = 90_000;
const PAUSE_MS = 20;

/**
 * What `find` finds once it is as it should be.
 * @throws Error with what it found last.
 */
export async function until<T>(find: () => T | Promise<T>, isMeant: (found: T) => unknown = Boolean, pauseMs = PAUSE_MS): Promise<T> {
  for (const limit = performance.now() + LIMIT_MS; ; await sleep(pauseMs)) {
    const found = await find();
    if (isMeant(found)) return found;
    if (performance.now() > limit) throw new Error(`It did not come to be; in the end it was ${JSON.stringify(found)}.`);
  }
}
