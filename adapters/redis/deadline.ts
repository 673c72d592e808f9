import { deadlineAfter, leave } from '../../lib/times/free-time.js';

/** Milliseconds of free time in which the server answers, or it is taken to be away: a call ends within 1.5 seconds. */
export const DEADLINE_MS = 1000;

const deadline = deadlineAfter(DEADLINE_MS);

/**
 * The outcome of a command. A `commandTimeout` of ioredis would end the command by the clock, even when the answer came and this process was too
 * busy to read it.
 * @throws Error when the time is over: what was sent may have been done.
 */
export function inTime<T>(command: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const waiting = deadline.enter(() => reject(new Error(`Redis did not answer within ${DEADLINE_MS} ms.`)));
    command.then(
      (answer) => {
        leave(waiting);
        resolve(answer);
      },
      (error: unknown) => {
        leave(waiting);
        reject(bare(error));
      },
    );
  });
}

/** ioredis puts the command on the error, and errors are logged: records are not for logs. */
function bare(error: unknown): unknown {
  if (typeof error === 'object' && error !== null) Reflect.deleteProperty(error, 'command');
  return error;
}
