/** Outages of the stores: each is one line when it begins and one when it ends, however many calls fail. */
import type { Logger } from '../logger.js';

/** Milliseconds between two looks whether an outage has ended, which it has not while calls fail in them. */
const CALM = 1000;

export interface Outage {
  failed(cause: unknown): void;
  /** Stops looking. */
  close(): void;
}

/**
 * @param probe asks whether the store is well in all that it is for, so that reads end no outage of a store that refuses writes; what fails in it
 * comes back as failed.
 */
export function createOutage(store: string, probe: () => Promise<void>, logger: Logger): Outage {
  let began: number | undefined;
  let failedAt = 0;
  let calls = 0;
  let timer: NodeJS.Timeout | undefined;

  const ended = (): void => {
    if (began === undefined || performance.now() - failedAt < CALM) return;
    clearInterval(timer);
    const seconds = Math.round((performance.now() - began) / 1000);
    began = undefined;
    logger.warn({ store, seconds, calls }, 'store is back');
  };

  return {
    failed(cause) {
      failedAt = performance.now();
      calls += 1;
      if (began !== undefined) return;
      began = failedAt;
      calls = 1;
      logger.error({ err: cause, store }, 'store is away');
      timer = setInterval(() => void probe().then(ended, () => {}), CALM).unref();
    },
    close: () => clearInterval(timer),
  };
}
