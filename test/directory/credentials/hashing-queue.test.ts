import { describe, expect, test } from '@jest/globals';
import { createHashingQueue } from '../../../lib/directory/credentials/hashing-queue.js';
import { codeOf } from '../../support/service/test-directory.js';

/** Creates a queue whose tasks take a second each. Its clock stands still until tasks end, in the order of their start. */
function createTrial({ places = 1, longestWaitMs = 20_000 } = {}) {
  let time = 0;
  const started: string[] = [];
  const running: (() => void)[] = [];
  const queue = createHashingQueue({ places, longestWaitMs, taskMs: 1000, now: () => time });
  return {
    started,
    ask(name: string, from: readonly string[] = [name], count = 1) {
      const task = (index: number) => () => {
        started.push(count === 1 ? name : `${name}${index}`);
        return new Promise<string>((resolve) => running.push(() => resolve(name)));
      };
      return queue.run(
        Array.from({ length: count }, (_, index) => task(index)),
        from,
      );
    },
    /** Ends running tasks until none runs. */
    async drain() {
      while (running.length > 0) {
        time += 1000;
        for (const end of running.splice(0)) end();
        for (let tick = 0; tick < 5; tick += 1) await Promise.resolve();
      }
    },
  };
}

describe('the queue of password hashes', () => {
  test('runs as many at once as there are places, and the rest in the order they came', async () => {
    const trial = createTrial({ places: 2 });
    const answers = Promise.all(['a', 'b', 'c', 'd'].map((name) => trial.ask(name)));
    expect(trial.started).toEqual(['a', 'b']);
    await trial.drain();
    expect(trial.started).toEqual(['a', 'b', 'c', 'd']);
    expect(await answers).toEqual([['a'], ['b'], ['c'], ['d']]);
  });

  test('who asks for much waits for himself', async () => {
    const trial = createTrial();
    for (let index = 0; index < 10; index += 1) void trial.ask(`s${index}`, ['stranger']);
    for (const name of ['a', 'b', 'c']) void trial.ask(name);
    await trial.drain();
    expect(trial.started).toEqual(['s0', 'a', 'b', 'c', 's1', 's2', 's3', 's4', 's5', 's6', 's7', 's8', 's9']);
  });

  test('from many addresses with one name, and from one address with many names, alike', async () => {
    const trial = createTrial();
    for (let index = 0; index < 5; index += 1) void trial.ask(`n${index}`, [`address ${index}`, 'name of one']);
    for (let index = 0; index < 5; index += 1) void trial.ask(`m${index}`, ['address of one', `name ${index}`]);
    void trial.ask('a', ['address a', 'name a']);
    await trial.drain();
    expect(trial.started.indexOf('a')).toBeLessThanOrEqual(3);
    expect(trial.started).toHaveLength(11);
  });

  test('a newcomer does not overtake for ever: those who wait come nearer', async () => {
    const trial = createTrial();
    void trial.ask('first', ['x']);
    void trial.ask('second', ['x']);
    for (let index = 0; index < 10; index += 1) void trial.ask(`n${index}`);
    await trial.drain();
    expect(trial.started.indexOf('second')).toBe(11);
    void trial.ask('p', ['y']);
    void trial.ask('q', ['y']);
    await trial.drain();
    expect(trial.started.slice(-2)).toEqual(['p', 'q']);
  });

  test('200 at once: those that would wait longer than 20 s are told at once, by how long', async () => {
    const trial = createTrial({ places: 2 });
    const answers = Promise.allSettled(Array.from({ length: 200 }, (_, index) => trial.ask(`p${index}`, [`p${index}`], 3)));
    // 3 s of work each for 2 places: 20 s are 40 earlier tasks.
    await Promise.resolve();
    expect(trial.started).toHaveLength(2);
    await trial.drain();
    const settled = await answers;
    const refused = settled.filter((each) => each.status === 'rejected');
    expect(trial.started).toHaveLength(3 * 14);
    expect(refused).toHaveLength(200 - 14);
    for (const { reason } of refused) expect(reason).toMatchObject({ code: 'busy', status: 503, details: { retryAfterSeconds: 22 } });
  });

  test('one stranger who fills it is refused, and another person is not', async () => {
    const trial = createTrial({ places: 1 });
    const stranger = Array.from({ length: 100 }, (_, index) => codeOf(trial.ask(`s${index}`, ['stranger', `name ${index}`])));
    const other = trial.ask('other');
    await trial.drain();
    expect((await Promise.all(stranger)).filter((code) => code === 'busy')).toHaveLength(100 - 21);
    expect(await other).toEqual(['other']);
    expect(trial.started[1]).toBe('other');
  });

  test('who waited too long after all is told, and what he asked for is not done', async () => {
    const trial = createTrial({ longestWaitMs: 1500 });
    const first = trial.ask('first');
    const second = trial.ask('second');
    expect(await codeOf(second)).toBe('busy');
    await trial.drain();
    expect(trial.started).toEqual(['first']);
    expect(await first).toEqual(['first']);
  });

  test('a task that fails leaves its place', async () => {
    const queue = createHashingQueue({ places: 1, longestWaitMs: 1000, taskMs: 1 });
    await expect(queue.run([async () => Promise.reject(new Error('no'))], [])).rejects.toThrow('no');
    expect(await queue.run([async () => 'yes'], [])).toEqual(['yes']);
  });
});
