import { setTimeout as sleep } from 'node:timers/promises';
import { deadlineAfter, leave } from '../../lib/times/free-time.js';

/** Milliseconds of free time in which the server has to answer. A server that takes longer counts as unavailable, so a call ends within 1.5 seconds. */
const DEADLINE_MS = 1200;

/** Maximum milliseconds between two attempts. */
const PAUSE_MS = 20;

/** DocumentDB, on which FerretDB runs, reports the SQLSTATE 40P01 of PostgreSQL as a number. MongoDB itself repeats a write that conflicts. */
const DEADLOCK = 16_908_292;

/** Returns whether the server undid the failed statement because of concurrent statements. The statement may succeed if it is sent again. */
const isDeadlock = (error: unknown): boolean => (error as { code?: unknown } | undefined)?.code === DEADLOCK;

/**
 * Returns the result of a bulk write; undefined after a deadlock. A bulk write cannot be repeated, because statements before the deadlock were executed.
 */
export const unlessDeadlock = <T>(writing: Promise<T>): Promise<T | undefined> =>
  writing.catch((error: unknown) => {
    if (isDeadlock(error)) return undefined;
    throw error;
  });

/** Options of a driver call. The types of writing calls lack `signal`, although the driver uses `signal` there too. */
export interface Bounds {
  readonly signal: AbortSignal;
  readonly maxTimeMS: number;
}

/**
 * Ends a call within the deadline, independent of the time-outs of the host's client. Repeats a call that a deadlock undid. The driver's own `timeoutMS`
 * then has no effect. The signal cancels a command that waits to be sent. Otherwise the command could run long after the error was returned. `maxTimeMS`
 * ends the command at the server.
 * @throws Error after the deadline. A command that was sent may have been executed.
 */
export function inTime<T>(call: (bounds: Bounds) => Promise<T>, milliseconds = DEADLINE_MS): Promise<T> {
  const controller = new AbortController();
  return new Promise((resolve, reject) => {
    const waiting = deadlineAfter(milliseconds).enter(() => {
      const error = new Error(`MongoDB did not answer within ${milliseconds} ms.`);
      reject(error);
      controller.abort(error);
    });
    repeated(() => call({ signal: controller.signal, maxTimeMS: milliseconds }), controller.signal)
      .finally(() => leave(waiting))
      .then(resolve, reject);
  });
}

/** Repeats a call after a deadlock, until the signal aborts. */
async function repeated<T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (signal.aborted || !isDeadlock(error)) throw error;
    }
    await sleep(Math.random() * PAUSE_MS);
  }
}
