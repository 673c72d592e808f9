/** Outages of the stores. Each outage has one log line when it begins and one when it ends, however many calls fail. */
import { outageOf } from '../../errors.js';
import type { Logger } from '../../logger.js';

/** Milliseconds between two checks whether an outage has ended. */
const LOOK_MS = 1000;
/**
 * Milliseconds without a failure after which an outage has ended. A store that soon fails again must go without failures for longer each
 * time. Otherwise a store at which only some calls fail would fill the log.
 */
const CALM_MS = 1000;
const LONGEST_CALM_MS = 60_000;

export interface Outage {
  failed(cause: unknown): void;
  /** Stops the checks. */
  close(): void;
}

/**
 * @param probe checks reads and writes of the store, so that reads do not end the outage of a store that refuses writes. Failures of the
 * probe are reported as failures of the store.
 */
export function createOutage(store: string, probe: () => Promise<void>, logger: Logger): Outage {
  let began: number | undefined;
  let failedAt = 0;
  let calls = 0;
  let calm = CALM_MS;
  let endedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const ended = (): void => {
    if (began === undefined || performance.now() - failedAt < calm) return;
    clearInterval(timer);
    endedAt = performance.now();
    const seconds = Math.round((endedAt - began) / 1000);
    began = undefined;
    logger.warn({ store, seconds, calls }, 'the store is available again');
  };

  return {
    failed(cause) {
      failedAt = performance.now();
      calls += 1;
      if (began !== undefined) return;
      began = failedAt;
      calls = 1;
      calm = began - endedAt < LONGEST_CALM_MS ? Math.min(calm * 4, LONGEST_CALM_MS) : CALM_MS;
      logger.error({ err: outageOf(cause), store }, 'the store is unavailable');
      logger.debug({ err: cause, store }, 'this call detected the outage');
      // A call that was under way at the close may fail after it.
      if (!isClosed) timer = setInterval(() => void probe().then(ended, () => {}), LOOK_MS).unref();
    },
    close() {
      isClosed = true;
      clearInterval(timer);
    },
  };
}
