/** Rate limits: attempts that count, and attempts that are given back. */
import { describe, expect, test } from '@jest/globals';
import { createLimits } from '../../lib/contract/limit.js';
import { HOUR_MS } from '../../lib/times/units.js';

/** Returns counters in memory. `failsFrom` is the number of the first call for which the store is unavailable. */
function counters(failsFrom = Number.POSITIVE_INFINITY) {
  const counts = new Map<string, number>();
  let calls = 0;
  const attempts = async (counter: string, _window: number, by = 1) => {
    calls += 1;
    if (calls >= failsFrom) throw new Error('the store is unavailable');
    const count = Math.max(0, (counts.get(counter) ?? 0) + by);
    counts.set(counter, count);
    return { count, resetsAt: new Date(90_000) };
  };
  return { counts, limit: createLimits(attempts, () => 0) };
}

describe('a limit', () => {
  test('is exceeded by the attempt after the last, and says how long to wait', async () => {
    const guesses = counters().limit('guesses', { of: 2, in: HOUR_MS });
    const seen = [];
    for (let each = 0; each < 3; each += 1) seen.push(await guesses.attempt('alice'));
    expect(seen.map(({ count, isOver }) => [count, isOver])).toEqual([
      [1, false],
      [2, false],
      [3, true],
    ]);
    expect(seen.map(({ minutes, seconds }) => [minutes, seconds])).toEqual([
      [2, 90],
      [2, 90],
      [2, 90],
    ]);
  });

  test('counts each key, and each name, by itself', async () => {
    const { limit, counts } = counters();
    await limit('guesses', { of: 1, in: HOUR_MS }).attempt('alice', '192.0.2.1');
    await limit('guesses', { of: 1, in: HOUR_MS }).attempt('alice 192.0.2.1');
    await limit('mails', { of: 1, in: HOUR_MS }).attempt('alice', '192.0.2.1');
    expect([...counts.values()]).toEqual([1, 1, 1]);
  });

  test('gets an attempt back once, or all of the window', async () => {
    const { limit, counts } = counters();
    const guesses = limit('guesses', { of: 5, in: HOUR_MS });
    const [first, second, third] = [await guesses.attempt('alice'), await guesses.attempt('alice'), await guesses.attempt('alice')];
    await first.giveBack();
    await first.giveBack();
    expect([...counts.values()]).toEqual([2]);
    await third.giveBack(third.count);
    expect([...counts.values()]).toEqual([0]);
    await second.giveBack();
    expect([...counts.values()]).toEqual([0]);
  });

  test('gets an attempt back that failed, and keeps one that did not', async () => {
    const { limit, counts } = counters();
    const guesses = limit('guesses', { of: 5, in: HOUR_MS });
    const failed = new Error('the store is unavailable');
    await expect((await guesses.attempt('alice')).run(() => Promise.reject(failed))).rejects.toBe(failed);
    expect([...counts.values()]).toEqual([0]);
    await expect((await guesses.attempt('alice')).run(() => 'wrong')).resolves.toBe('wrong');
    expect([...counts.values()]).toEqual([1]);
  });

  test('throws the error of the attempt even if the attempt cannot be given back', async () => {
    const failed = new Error('the attempt failed');
    const attempt = await counters(2).limit('guesses', { of: 5, in: HOUR_MS }).attempt('alice');
    await expect(attempt.run(() => Promise.reject(failed))).rejects.toBe(failed);
  });
});
