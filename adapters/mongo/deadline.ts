import { deadlineAfter, leave } from '../../lib/times/free-time.js';

/** Milliseconds of free time in which the server has to answer. A server that takes longer counts as unavailable, so a call ends within 1.5 seconds. */
const DEADLINE_MS = 1200;

/** Options of a driver call. The types of writing calls lack `signal`, although the driver uses `signal` there too. */
export interface Bounds {
  readonly signal: AbortSignal;
  readonly maxTimeMS: number;
}

/**
 * Ends a call within the deadline, independent of the time-outs of the host's client. The driver's own `timeoutMS` then has no effect. The signal cancels a
 * command that waits to be sent. Otherwise the command could run long after the error was returned. `maxTimeMS` ends the command at the server.
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
    call({ signal: controller.signal, maxTimeMS: milliseconds })
      .finally(() => leave(waiting))
      .then(resolve, reject);
  });
}
