/** Outages of the stores: each is one line when it begins and one when it ends, however many calls fail. */
import type { Logger } from '../logger.js';

/** Milliseconds without a failure after which an answer ends an outage, and between two looks whether it has. */
const CALM = 1000;

export interface Outage {
  failed(cause: unknown): void;
  answered(): void;
  /** Stops looking. */
  close(): void;
}

/** @param probe asks whether the store is well, as whoever uses it would: its outcome comes back as failed or answered. */
export function createOutage(store: string, probe: () => Promise<void>, logger: Logger): Outage {
  let began: number | undefined;
  let failedAt = 0;
  let calls = 0;
  let timer: NodeJS.Timeout | undefined;

  return {
    failed(cause) {
      failedAt = performance.now();
      calls += 1;
      if (began !== undefined) return;
      began = failedAt;
      calls = 1;
      logger.error({ err: cause, store }, 'store is away');
      timer = setInterval(() => void probe().catch(() => {}), CALM).unref();
    },
    answered() {
      if (began === undefined || performance.now() - failedAt < CALM) return;
      clearInterval(timer);
      const seconds = Math.round((performance.now() - began) / 1000);
      began = undefined;
      logger.warn({ store, seconds, calls }, 'store is back');
    },
    close: () => clearInterval(timer),
  };
}
