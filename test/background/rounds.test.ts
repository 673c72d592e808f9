/** Engine of background work, promise by promise. The tests of each module on the engine cover the steps between the module's writes. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { createLeases } from '../../adapters/memory/leases.js';
import { type Round, type Rounds, type RoundsOptions, rounds } from '../../lib/background/rounds.js';
import { IdpError } from '../../lib/errors.js';
import { until } from '../support/time/until.js';

const LONG_MS = 60_000;
const messages = { round: 'the round failed', row: 'the row failed' };

let logged: (readonly [object, string])[] = [];
let made: Rounds[] = [];
let gates: (() => void)[] = [];
afterEach(async () => {
  for (const open of gates) open();
  await Promise.all(made.map((work) => work.close()));
  logged = [];
  [made, gates] = [[], []];
});

/** Starts work. */
function begin(options: Partial<RoundsOptions> & Pick<RoundsOptions, 'run'>): Rounds {
  const logger = { error: (fields: object, message: string) => void logged.push([fields, message]) };
  const work = rounds({ name: 'tidying', every: LONG_MS, logger, messages, ...options });
  made.push(work);
  work.start();
  return work;
}
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
/** Returns a promise, and a function that fulfils the promise. */
function gate(): { readonly passed: Promise<void>; open(): void } {
  let open = (): void => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  gates.push(open);
  return { passed, open };
}
const count = () => {
  let rounds = 0;
  async function run(): Promise<undefined> {
    rounds += 1;
  }
  return { run, rounds: () => rounds };
};

describe('the timer', () => {
  test('begins the first round at the start or later, and the next ones after the interval', async () => {
    const [now, later] = [count(), count()];
    begin({ every: 5, run: now.run });
    begin({ every: 5, first: LONG_MS, run: later.run });
    await until(() => now.rounds() >= 3);
    expect(later.rounds()).toBe(0);
  });

  test('begins no round beside another, and none before the start', async () => {
    let most = 0;
    let running = 0;
    let done = 0;
    begin({
      every: 1,
      async run() {
        most = Math.max(most, ++running);
        await pause(10);
        running -= 1;
        done += 1;
        return undefined;
      },
    });
    const { run, rounds: of } = count();
    const idle = rounds({ name: 'idle', every: 1, run, logger: { error() {} }, messages });
    idle.nudge();
    await until(() => done >= 3);
    expect([most, of()]).toEqual([1, 0]);
    await idle.close();
  });

  test('waits as long as a round answers', async () => {
    let rounds = 0;
    begin({ run: async () => (++rounds < 3 ? 1 : undefined) });
    await until(() => rounds === 3);
    await pause(30);
    expect(rounds).toBe(3);
  });
});

describe('a nudge', () => {
  test('begins a round now; during a round it gives one more, however often it comes', async () => {
    const { passed, open } = gate();
    let rounds = 0;
    const work = begin({
      async run() {
        rounds += 1;
        if (rounds === 2) await passed;
        return undefined;
      },
    });
    await until(() => rounds === 1);
    work.nudge();
    await until(() => rounds === 2);
    for (let nudge = 0; nudge < 5; nudge += 1) work.nudge();
    open();
    await until(() => rounds === 3);
    await pause(30);
    expect(rounds).toBe(3);
  });
});

describe('the lease', () => {
  const leaseOf = (leases: ReturnType<typeof createLeases>, holder: string) => (ms: number) => leases.lease('tidying', holder, ms);

  test('of another node keeps this one from working, until it ends; who closes gives it back', async () => {
    const leases = createLeases();
    const [one, other] = [count(), count()];
    const first = begin({ every: 5, lease: leaseOf(leases, 'one'), run: one.run });
    await until(() => one.rounds() > 0);
    begin({ every: 5, lease: leaseOf(leases, 'other'), run: other.run });
    const before = one.rounds();
    await until(() => one.rounds() > before + 2);
    expect(other.rounds()).toBe(0);
    const closedAt = performance.now();
    await first.close();
    await until(() => other.rounds() > 0);
    // The lease would last for ten seconds.
    expect(performance.now() - closedAt).toBeLessThan(5_000);
  });

  test('is not asked for while nothing is due', async () => {
    let asked = 0;
    let looks = 0;
    let isDue = false;
    const { run, rounds } = count();
    begin({
      every: 2,
      isDue: () => {
        looks += 1;
        return isDue;
      },
      lease: async () => ++asked > 0,
      run,
    });
    await until(() => looks > 3);
    expect([asked, rounds()]).toEqual([0, 0]);
    isDue = true;
    await until(() => rounds() > 0);
  });

  test('is renewed while a round or a row is worked on', async () => {
    const leases = createLeases();
    const { passed, open } = gate();
    let isBegun = false;
    begin({
      lease: leaseOf(leases, 'one'),
      leaseMs: 200,
      async run(round) {
        await round.attempt({ id: 'row' }, async () => {
          isBegun = true;
          await passed;
          return undefined;
        });
        return undefined;
      },
    });
    await until(() => isBegun);
    for (let look = 0; look < 20; look += 1) {
      await pause(20);
      expect(await leases.lease('tidying', 'other', 1)).toBe(false);
    }
    open();
  });

  test('that another node has by now aborts the round, which does not go on', async () => {
    let isOurs = true;
    let seen: Round | undefined;
    const { passed, open } = gate();
    begin({
      lease: async () => isOurs,
      leaseMs: 100,
      async run(round) {
        seen = round;
        await passed;
        return undefined;
      },
    });
    await until(() => seen);
    expect([seen?.signal.aborted, await seen?.goesOn()]).toEqual([false, true]);
    isOurs = false;
    await until(() => seen?.signal.aborted);
    expect(await seen?.goesOn()).toBe(false);
    open();
  });
});

describe('rounds that fail', () => {
  test('come later each time, whatever nudges them, and are told of once until one succeeds', async () => {
    const times: number[] = [];
    let fails = true;
    const work = begin({
      every: 20,
      async run() {
        times.push(performance.now());
        if (fails) throw new Error('no');
        return undefined;
      },
      fields: { job: 'tidying' },
    });
    const nudging = setInterval(() => work.nudge(), 5);
    await until(() => times.length >= 6);
    clearInterval(nudging);
    const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    for (const [index, wait] of waits.entries()) expect(wait).toBeGreaterThanOrEqual(20 * 2 ** index * 0.75 - 2);
    expect(logged).toEqual([[{ err: new Error('no'), job: 'tidying' }, 'the round failed']]);
    expect(work.problems()).toEqual([{ code: 'work_failing', collection: 'tidying', id: '' }]);
    fails = false;
    await until(() => work.problems().length === 0);
    fails = true;
    await until(() => logged.length === 2);
  });

  test('for an outage come at their usual time, and are not told of: the outage is', async () => {
    let rounds = 0;
    const work = begin({
      every: 1,
      async run() {
        rounds += 1;
        throw new IdpError('store_unavailable');
      },
    });
    await until(() => rounds >= 10);
    expect([logged, work.problems()]).toEqual([[], []]);
  });
});

describe('rows', () => {
  test('are worked on beside the rounds, so many at the same time and each once at a time', async () => {
    const { passed, open } = gate();
    const begun: string[] = [];
    let work: Rounds | undefined;
    work = begin({ atOnce: 2, run: async () => undefined });
    const attempt = (id: string) =>
      work?.attempt({ id }, async () => {
        begun.push(id);
        await passed;
        return undefined;
      });
    expect([await attempt('a'), await attempt('b'), work.isFull(), work.isReady({ id: 'a' })]).toEqual([true, true, true, false]);
    const [again, third] = [attempt('a'), attempt('c')];
    await pause(10);
    expect(begun).toEqual(['a', 'b']);
    open();
    // The first attempt of the row has ended by now.
    expect([await again, await third]).toEqual([true, true]);
    await work.idle();
    expect(begun.sort()).toEqual(['a', 'a', 'b', 'c']);
  });

  test('that fail are left alone and told of once; a change by somebody else, and success, end that', async () => {
    let fails = true;
    const tried: number[] = [];
    const work = begin({ atOnce: 5, run: async () => undefined });
    const attempt = async (version: number) => {
      const isBegun = await work.attempt({ id: 'bad', version }, async () => {
        tried.push(version);
        if (fails) throw new Error('no');
        return undefined;
      });
      await work.idle();
      return isBegun;
    };
    expect([await attempt(1), await attempt(1), await attempt(2), await attempt(2)]).toEqual([true, false, true, false]);
    expect(tried).toEqual([1, 2]);
    expect(logged).toEqual([[{ err: new Error('no'), record: 'bad' }, 'the row failed']]);
    expect(work.problems()).toEqual([{ code: 'work_failing', collection: 'tidying', id: 'bad' }]);
    expect(await work.attempt({ id: 'good' }, async () => undefined)).toBe(true);
    fails = false;
    expect([await attempt(3), work.problems()]).toEqual([true, []]);
    // The row is ready after a second, the back-off of the first failure.
    fails = true;
    await attempt(4);
    const failedAt = performance.now();
    await until(() => work.isReady({ id: 'bad', version: 4 }));
    expect(performance.now() - failedAt).toBeGreaterThan(700);
  });

  test('that cannot be worked on for an outage are ready again', async () => {
    const work = begin({ run: async () => undefined });
    await work.attempt({ id: 'row' }, () => Promise.reject(new IdpError('store_unavailable')));
    await work.idle();
    expect([work.isReady({ id: 'row' }), logged, work.problems()]).toEqual([true, [], []]);
  });

  test('are left alone as long as their work answers, in the version that it names', async () => {
    const work = begin({ run: async () => undefined });
    await work.attempt({ id: 'row', version: 1 }, async () => ({ forMs: LONG_MS, version: 2 }));
    await work.idle();
    expect([1, 2, 3].map((version) => work.isReady({ id: 'row', version }))).toEqual([true, false, true]);
    expect(work.problems()).toEqual([]);
    await work.attempt({ id: 'short' }, async () => ({ forMs: 5 }));
    await until(() => work.isReady({ id: 'short' }));
  });
});

describe('closing', () => {
  test('during a round aborts it and waits for it and for rows, begins no other, and leaves no timer', async () => {
    const log: string[] = [];
    const { passed, open } = gate();
    const work = begin({
      every: 1,
      async run(round) {
        await round.attempt({ id: 'row' }, async () => {
          await passed;
          log.push('row');
          return undefined;
        });
        log.push('began');
        await new Promise((resolve) => round.signal.addEventListener('abort', resolve));
        log.push(`goes on: ${await round.goesOn()}`);
        return undefined;
      },
    });
    await until(() => log.length > 0);
    work.nudge();
    const closing = work.close().then(() => log.push('closed'));
    await pause(20);
    expect(log).toEqual(['began', 'goes on: false']);
    open();
    await closing;
    work.nudge();
    expect(await work.attempt({ id: 'late' }, async () => undefined)).toBe(false);
    await pause(20);
    expect(log).toEqual(['began', 'goes on: false', 'row', 'closed']);
  });

  test('waits no longer than it may, and does work that is to be drained once more', async () => {
    const rows = ['a'];
    const done: string[] = [];
    const work: Rounds = begin({
      isDrained: true,
      graceMs: 20,
      atOnce: 5,
      async run(round) {
        for (const id of rows.splice(0))
          await round.attempt({ id }, async () => {
            done.push(id);
            // A row that is written during the round is drained too.
            if (id === 'b') rows.push('c');
            if (id === 'b') work.nudge();
            return undefined;
          });
        return undefined;
      },
    });
    await until(() => done.length === 1);
    rows.push('b');
    await work.attempt({ id: 'hangs' }, () => new Promise(() => {}));
    await work.close();
    expect(done).toEqual(['a', 'b', 'c']);
  });
});
