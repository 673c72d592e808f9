/**
 * Rate limit for guesses of secrets of clients and API resources. The secret is compared before the rate limit is checked. A correct secret therefore
 * succeeds even if others guessed too often.
 */
import type { CountWrongSecret } from '../../contract/context/limits.js';
import type { Limit } from '../../contract/limit.js';
import { IdpError } from '../../errors.js';
import { secondsUntil } from '../../times/time-left.js';
import { addressBlock } from './client-address.js';

export const createCountWrongSecret =
  (limit: Limit, now: () => number): CountWrongSecret =>
  async (ctx, id, cause) => {
    const { isOver, resetsAt } = await limit.attempt(id, addressBlock(ctx.ip));
    if (!isOver) return;
    throw new IdpError('too_many_requests', { retryAfterSeconds: secondsUntil(resetsAt, now) }, { cause });
  };
