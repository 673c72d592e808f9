/** F5: a change that cuts off sign-ins is answered when they have ended, and a delivery ends what could not be ended in time. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, jest, test } from '@jest/globals';
import { unknownCutoffs } from '../../../lib/directory/accounts/recent-cutoffs.js';
import { createSignInCutoffs, LATEST_ANSWER_MS, type SignIns } from '../../../lib/directory/accounts/sign-in-cutoff.js';
import type { NextNotBefore } from '../../../lib/directory/context.js';
import type { Delivery } from '../../../lib/store/records/records.js';
import { cutOffs } from '../../support/sign-in/cut-offs.js';
import { stopTime } from '../../support/time/clock.js';
import { epochSeconds } from '../../support/time/epoch-seconds.js';

type Listener = SignIns['end'];

const nextSecond = () => epochSeconds() + 1;

/** Creates cut-offs whose steps are recorded in order. */
function withSteps(end: Listener, newest: SignIns['newest'] = async () => 0) {
  const steps: string[] = [];
  const handlers: ((delivery: Delivery) => Promise<void>)[] = [];
  const deliveries = {
    enqueue: async () => {
      steps.push('enqueued');
      return {
        release: () => void steps.push('released'),
        withdraw: async () => void steps.push('withdrawn'),
      };
    },
    handle: (_: string, send: (delivery: Delivery) => Promise<void>) => void handlers.push(send),
  };
  const recent = { ...unknownCutoffs, note: async (oid: string) => void steps.push(`noted ${oid}`) };
  const cutoffs = createSignInCutoffs({ deliveries, caches: { changed: async () => undefined }, recent, now: Date.now });
  cutoffs.on({ end, newest }, async ({ clientId }) => void steps.push(`completed ${clientId}`));
  let notBefore = 0;
  const change = async (nextNotBefore: NextNotBefore) => {
    steps.push('changed');
    notBefore = nextNotBefore({}).getTime();
  };
  return {
    steps,
    notBefore: () => notBefore,
    async deliver(cutoff: Parameters<Listener>[0]): Promise<void> {
      for (const send of handlers) await send({ data: { ...cutoff } } as unknown as Delivery);
    },
    async run(cutoff: Parameters<Listener>[0]): Promise<number> {
      const began = performance.now();
      await cutoffs.withCutoff(cutoff, change);
      steps.push('answered');
      return performance.now() - began;
    },
  };
}

test('F5: the sign-ins of a user end between the change and its answer, and nothing is left to deliver', async () => {
  const { steps, run } = withSteps(async () => {
    await new Promise(setImmediate);
    steps.push('ended');
    return undefined;
  });
  await run({ oid: 'o' });
  expect(steps).toEqual(['enqueued', 'changed', 'noted o', 'ended', 'withdrawn', 'answered']);
});

test.each<readonly [string, Listener]>([
  ['fails', () => Promise.reject(new Error('unavailable'))],
  ['is slow', () => new Promise(() => {})],
])(
  'F5, L1: where the store of sign-ins %s, the change is answered when every node knows it, and the delivery ends the sign-ins',
  async (_, listener) => {
    const { steps, run } = withSteps(listener);
    const took = await run({ oid: 'o' });
    expect(steps).toEqual(['enqueued', 'changed', 'noted o', 'released', 'answered']);
    expect(took).toBeGreaterThanOrEqual(LATEST_ANSWER_MS - 5);
  },
);

test.each<readonly [string, SignIns['newest'], number]>([
  ['the newest sign-in, which was stamped before the clock of the store was set back', async () => (nextSecond() + 12) * 1000, 13],
  ['now, where the newest sign-in is older', async () => (nextSecond() - 12) * 1000, 0],
  ['now, where the store of sign-ins does not answer', () => Promise.reject(new Error('unavailable')), 0],
])('F2: a cut-off ends the sign-ins until %s', async (_, newest, ahead) => {
  const time = stopTime();
  try {
    const { run, notBefore } = withSteps(async () => undefined, newest);
    await run({ oid: 'o' });
    expect(notBefore()).toBe((nextSecond() + ahead) * 1000);
  } finally {
    time.resume();
  }
});

test('F5: a delivered cut-off is noted first, because its node may have died before', async () => {
  const { steps, deliver } = withSteps(async () => {
    steps.push('ended');
    return undefined;
  });
  await deliver({ oid: 'o' });
  expect(steps).toEqual(['noted o', 'ended']);
});

test('F5: the cut-off of one client is not noted, because the user may still sign in to the others; a delivery completes it first', async () => {
  const { steps, run, deliver } = withSteps(async () => {
    steps.push('ended');
    return undefined;
  });
  await run({ oid: 'o', clientId: 'c', at: 1, by: {} });
  await deliver({ oid: 'o', clientId: 'c', at: 1, by: {} });
  expect(steps).toEqual(['enqueued', 'changed', 'ended', 'withdrawn', 'answered', 'completed c', 'ended']);
});

test('F5: the sign-ins of a tenant are delivered, because there may be many', async () => {
  const { steps, run } = withSteps(() => new Promise(() => {}));
  await run({ tid: 't' });
  expect(steps).toEqual(['enqueued', 'changed', 'released', 'answered']);
});

test('a change that is refused keeps its delivery, because the store may have made the change', async () => {
  const steps: string[] = [];
  const deliveries = {
    enqueue: async () => ({ release: () => void steps.push('r'), withdraw: async () => void steps.push('w') }),
    handle: jest.fn(),
  };
  const { withCutoff } = createSignInCutoffs({
    deliveries,
    caches: { changed: async () => undefined },
    recent: unknownCutoffs,
    now: Date.now,
  });
  await expect(withCutoff({ oid: 'o' }, () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  expect(steps).toEqual([]);
});

test('F5: the table of cut-offs has every call of `withCutoff` for a user', () => {
  const root = 'lib/directory';
  const calls = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => {
      const text = readFileSync(`${root}/${file}`, 'utf8');
      return [...text.matchAll(/\bwithCutoff\(\{ oid: ([\w.]+) \}/g)].map(({ index, 1: oid }) => {
        const [, name] = [...text.slice(0, index).matchAll(/^(?:export )?(?:async )?(?:function|const) (\w+)/gm)].at(-1) ?? [];
        return `${file.slice(0, -3)} ${name} ${oid}`;
      });
    });
  expect(calls.length).toBeGreaterThan(7);
  expect([...new Set(calls)].sort()).toEqual([...new Set(Object.values(cutOffs).map(({ at }) => at))].sort());
});
