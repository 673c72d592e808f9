import { deadlineAfter, leave } from '../../lib/times/free-time.js';

/** Milliseconds of free time in which the server has to answer. Otherwise it counts as unavailable: a call ends within 1.5 seconds. */
const DEADLINE_MS = 1200;

/** Options of a driver call. The types of writing calls lack `signal`, though the driver uses it there too. */
export interface Bounds {
  readonly signal: AbortSignal;
  readonly maxTimeMS: number;
}

/**
 * Ends a call within the deadline, whatever the time-outs of the host's client are. The driver's own `timeoutMS` then has no effect. The
 * signal cancels a command that waits to be sent, so that the command does not run long after its caller got the error. `maxTimeMS` ends
 * the command at the server.
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
