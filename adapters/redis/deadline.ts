import { deadlineAfter, leave } from '../../lib/times/free-time.js';

/** Milliseconds of free time in which the server has to answer. A server that takes longer counts as unavailable, so a call ends within 1.5 seconds. */
export const DEADLINE_MS = 1000;

const deadline = deadlineAfter(DEADLINE_MS);

/**
 * Returns the result of a command. `commandTimeout` of ioredis is not used. The option would end the command by the clock, even if the answer has arrived and this
 * node was too busy to read the answer.
 * @throws Error after the deadline. The command may have been executed.
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

/** Returns the error without the command that ioredis adds to the error, because errors are logged and records must not be logged. */
function bare(error: unknown): unknown {
  if (typeof error === 'object' && error !== null) Reflect.deleteProperty(error, 'command');
  return error;
}
