/** Guessing secrets of clients and API resources is slow. A secret is compared first, so a right one passes whatever others tried. */
import type { CountWrongSecret } from '../../contract/context/limits.js';
import { IdpError } from '../../errors.js';
import { secondsUntil } from '../../times/time-left.js';
import { addressBlock } from './client-address.js';

/** Wrong secrets for one id from one address, in a window of so many milliseconds. */
const LIMIT = 20;
const WINDOW_MS = 60_000;

type Attempts = (counter: string, window: number) => Promise<{ readonly count: number; readonly resetsAt: Date }>;

export const createCountWrongSecret =
  (attempts: Attempts, now: () => number): CountWrongSecret =>
  async (ctx, id, cause) => {
    const { count, resetsAt } = await attempts(JSON.stringify(['secret', id, addressBlock(ctx.ip)]), WINDOW_MS);
    if (count <= LIMIT) return;
    throw new IdpError('too_many_requests', { retryAfterSeconds: secondsUntil(resetsAt, now) }, { cause });
  };
