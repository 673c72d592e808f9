/** The clock of the artifact store, compared with the clock of this node. */
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
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
    // Without a limit, look-ups that fail immediately would leave the process no turn.
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

test('F2: a start fails until a comparison counts, because a node that does not know the time may neither answer nor write', async () => {
  const answers = [
    () => Promise.reject(new Error('away')),
    async () => {
      await sleep(1_600);
      return Date.now() + 12_000;
    },
    async () => Date.now() + 12_000,
  ];
  const clock = createStoreClock('test', () => (answers.shift() as (typeof answers)[number])(), silent as never);
  await expect(clock.start()).rejects.toThrow('away');
  await expect(clock.start()).rejects.toThrow(/took \d+ ms to tell its time/);
  await clock.start();
  expect(Math.round(clock.ahead() / 1000)).toBe(-12);
  clock.stop();
});
