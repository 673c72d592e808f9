import { expect, test } from '@jest/globals';
import { doubledWait, retryAfterMs, withJitter } from '../../lib/background/back-off.js';

const many = (make: () => number) => Array.from({ length: 200 }, make);

test('attempts are put off by the list of seconds, within a quarter, and given up after it', () => {
  expect(many(() => retryAfterMs(1, [5, 40]) ?? 0).every((wait) => wait >= 30_000 && wait <= 50_000)).toBe(true);
  expect([retryAfterMs(2, [5, 40]), retryAfterMs(0, [])]).toEqual([undefined, undefined]);
});

test('without a list, attempts are put off for about eight hours in all', () => {
  const waits = [0, 1, 2, 3, 4, 5, 6].map((failures) => retryAfterMs(failures));
  expect(waits.at(-1)).toBeUndefined();
  const hours = waits.reduce<number>((sum, wait = 0) => sum + wait, 0) / 3_600_000;
  expect(Math.round(hours)).toBeGreaterThanOrEqual(5);
  expect(Math.round(hours)).toBeLessThanOrEqual(9);
});

test('jitter spreads a time over half of its length', () => {
  const waits = many(() => withJitter(1000));
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(750);
  expect(Math.max(...waits)).toBeLessThanOrEqual(1250);
  expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(200);
});

test('a wait that doubles has a bound, and is no shorter than the first', () => {
  const middle = (failures: number, first = 1000) => Math.max(...many(() => doubledWait(first, failures, 5000))) / 1.25;
  for (const [failures, wait] of [1000, 1000, 2000, 4000, 5000, 5000].entries()) {
    expect(middle(failures)).toBeGreaterThan(wait * 0.8);
    expect(middle(failures)).toBeLessThanOrEqual(wait);
  }
  expect(middle(9, 60_000)).toBeGreaterThan(48_000);
});
