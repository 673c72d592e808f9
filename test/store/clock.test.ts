/** The clock of the artifact store, beside this node's. */
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { createStoreClock } from '../../lib/store/times/clock.js';
import { backToPresent, passTime } from '../support/time/clock.js';

afterEach(backToPresent);

const silent = { debug() {}, info() {}, warn() {}, error() {} };

test('a node whose clock is set while its store is away asks once for each call, because a failed look-up is not followed by the next', async () => {
  let asked = 0;
  let isAway = false;
  const time = (): Promise<number> => {
    asked += 1;
    // Without an end, look-ups that fail at once would leave the process no turn.
    if (asked > 100) return new Promise(() => {});
    return isAway ? Promise.reject(new Error('away')) : Promise.resolve(Date.now());
  };
  const clock = createStoreClock('test', time, silent as never);
  await clock.start();
  isAway = true;
  passTime(5);
  expect(Math.round(clock.ahead() / 1000)).toBe(5);
  await turn();
  expect(asked).toBe(2);
  clock.ahead();
  await turn();
  expect(asked).toBe(3);
  isAway = false;
  clock.ahead();
  await turn();
  expect([asked, clock.ahead()]).toEqual([4, 0]);
  clock.stop();
});
