import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from '../../../adapters/memory/index.js';
import { createDeliveries, type DeliveryQueue } from '../../../lib/directory/outbox/deliveries.js';
import type { Collection } from '../../../lib/store/directory-store.js';
import { collections } from '../../../lib/store/records/collections.js';
import type { Delivery } from '../../../lib/store/records/records.js';
import { boundMethods } from '../../store/with-collections.js';
import { silentLogger } from '../../support/service/test-directory.js';
import { backToPresent, passTime } from '../../support/time/clock.js';
import { until } from '../../support/time/until.js';

let rows: Collection<Delivery>;
let nodes: DeliveryQueue[];
/** Sent deliveries, each with its node. */
let sent: string[];
let refuse: (what: string) => boolean;
let elapsed: number;
/** Number of look-ups of deliveries, and number of deliveries that they read. */
let looks: { count: number; read: number };
beforeEach(async () => {
  const store = memoryDirectory();
  await store.open(Object.values(collections));
  rows = store.collection('deliveries');
  [nodes, sent, refuse, elapsed, looks] = [[], [], () => false, 0, { count: 0, read: 0 }];
});
afterEach(async () => {
  await Promise.all(nodes.map((node) => node.close()));
  backToPresent();
});

function startNode(): DeliveryQueue {
  const queue = createDeliveries(counted(rows), { logger: silentLogger, now: () => Date.now(), interval: 5 });
  const name = String(nodes.push(queue));
  queue.handle('note', async ({ data }) => {
    sent.push(`${data.text} by ${name}`);
    if (refuse(String(data.text))) throw new Error('not now');
  });
  return queue;
}
const counted = (inner: Collection<Delivery>): Collection<Delivery> => ({
  ...boundMethods(inner),
  async find(where, page) {
    const found = await inner.find(where, page);
    looks = { count: looks.count + 1, read: looks.read + found.length };
    return found;
  },
});
const note = (text: string, batch?: string) => ({ kind: 'note', data: { text }, ...(batch ? { batch } : {}) });
/** Waits until each node has looked for due deliveries several times. Then all work is done. */
async function settled(rounds = 5): Promise<void> {
  const enough = looks.count + 2 * rounds * nodes.length;
  await until(() => looks.count >= enough, Boolean, 5);
}
/** Moves the clock ahead. */
const later = (seconds: number) => {
  elapsed += seconds;
  passTime(elapsed);
};

describe('deliveries (design §4)', () => {
  test('one is sent once it is released, and is gone when it was taken', async () => {
    const queue = startNode();
    const { release } = await queue.enqueue([note('a', 'one'), note('b', 'one')]);
    expect((await queue.pending('one')).map(({ data }) => data.text).sort()).toEqual(['a', 'b']);
    release();
    await settled();
    expect(sent.sort()).toEqual(['a by 1', 'b by 1']);
    expect([await queue.pending('one'), await rows.find({})]).toEqual([[], []]);
  });

  test('one that nobody releases, because its node is gone, is sent by another in a moment', async () => {
    const first = startNode();
    await first.enqueue([note('a')]);
    await first.close();
    startNode();
    await settled();
    expect(sent).toEqual([]);
    later(3);
    await settled();
    expect(sent).toEqual(['a by 2']);
  });

  test('one that was not taken is tried again, later each time, and given up in the end; then it can be sent anew', async () => {
    refuse = () => true;
    const queue = startNode();
    (await queue.enqueue([note('a')])).release();
    for (const [index, wait] of [0, 7, 40, 160, 800, 4_600, 28_000].entries()) {
      if (index > 0) {
        await settled();
        expect(sent).toHaveLength(index);
        later(wait);
      }
      await settled();
      expect(sent).toHaveLength(index + 1);
    }
    const [dead] = await queue.dead();
    expect(dead).toMatchObject({ state: 'dead', attempts: 7, problem: 'not now' });
    later(86_400);
    await settled();
    expect(sent).toHaveLength(7);
    refuse = () => false;
    expect([await queue.retry(dead?.id ?? ''), await queue.retry('nothing')]).toEqual([true, false]);
    await settled();
    expect([sent.length, await rows.find({})]).toEqual([8, []]);
  });

  test('one that was given up is kept for a week', async () => {
    refuse = () => true;
    const queue = startNode();
    (await queue.enqueue([note('a')])).release();
    for (const wait of [7, 40, 160, 800, 4_600, 28_000]) {
      await settled();
      later(wait);
    }
    await settled();
    later(6 * 86_400);
    // Given-up deliveries are looked for only from time to time.
    await settled(70);
    expect(await queue.dead()).toHaveLength(1);
    later(86_400);
    await until(async () => (await queue.dead()).length === 0);
  });

  test('many nodes send each once', async () => {
    const [first] = [startNode(), startNode(), startNode()];
    await first?.enqueue(Array.from({ length: 50 }, (_, index) => note(String(index))));
    later(3);
    await until(() => sent.length >= 50);
    await settled();
    expect(new Set(sent.map((each) => each.split(' ')[0])).size).toBe(50);
    expect(sent).toHaveLength(50);
  });

  test('one that a node took and never ended is taken over', async () => {
    let begun = 0;
    const lost = createDeliveries(rows, { logger: silentLogger, now: () => Date.now(), interval: 3_600_000 });
    lost.handle('note', async () => {
      begun += 1;
      await new Promise(() => {});
    });
    (await lost.enqueue([note('a')])).release();
    await until(() => begun > 0);
    startNode();
    later(30);
    await settled();
    expect([begun, sent]).toEqual([1, []]);
    later(20);
    await settled();
    expect(sent).toEqual(['a by 1']);
  });

  test('one that is never taken holds up no other, and one that nobody here can send waits', async () => {
    refuse = (text) => text === 'bad';
    const queue = startNode();
    (await queue.enqueue([note('bad'), { kind: 'unknown', data: {} }, note('good')])).release();
    await settled();
    expect(sent.sort()).toEqual(['bad by 1', 'good by 1']);
    expect((await rows.find({})).map(({ kind, attempts }) => [kind, attempts]).sort()).toEqual([
      ['note', 1],
      ['unknown', 0],
    ]);
  });

  test('what is due is read, not all that waits, and what is due is found behind any number', async () => {
    const count = process.env.PROVE ? 10_000 : 2_000;
    refuse = (text) => text !== 'fresh';
    const queue = startNode();
    const tried = async (attempts: number) => {
      await until(async () => (await rows.find({})).every((row) => row.attempts >= attempts));
    };
    await queue.enqueue(Array.from({ length: count }, (_, index) => note(String(index))));
    for (const [index, wait] of [3, 7, 40].entries()) {
      later(wait);
      await tried(index + 1);
    }
    expect([sent.length, (await rows.find({})).length]).toEqual([3 * count, count]);

    const looked = async (times: number) => {
      const { count: before } = looks;
      await until(() => looks.count >= before + times);
    };
    await looked(2); // a look-up that was under way
    looks = { count: 0, read: 0 };
    await looked(10);
    expect(looks.read).toBeLessThanOrEqual(looks.count);

    await queue.enqueue([note('fresh')]);
    looks = { count: 0, read: 0 };
    later(3);
    await until(async () => (await rows.find({})).length === count);
    expect(sent.slice(3 * count)).toEqual(['fresh by 1']);
    expect(looks.read).toBeLessThanOrEqual(looks.count + 100);
  });

  test('one that was put off while another node took it over is not there twice', async () => {
    let give: (() => void) | undefined;
    const slow = createDeliveries(rows, { logger: silentLogger, now: () => Date.now(), interval: 3_600_000 });
    nodes.push(slow);
    slow.handle('note', () => new Promise((_, reject) => (give = () => reject(new Error('too late')))));
    (await slow.enqueue([note('a')])).release();
    await until(() => give);
    startNode();
    later(50);
    await settled();
    expect(sent).toEqual(['a by 2']);
    give?.();
    await until(async () => (await rows.find({})).length === 0);
  });
});
