import assert from 'node:assert/strict';
import type { ArtifactStore } from '../../../lib/store/artifact-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { atOnce, LONG, pass, SHORT } from '../passing-time.js';
import { keyOf } from './artifact.js';

const counter = keyOf('attempts');

export const counterCases: readonly ConformanceCase<ArtifactStore>[] = [
  {
    name: 'counters: hits count from 1, by one or by more, each counter for itself',
    async run(store) {
      assert.equal((await store.hit(counter, LONG)).count, 1);
      assert.equal((await store.hit(counter, LONG)).count, 2);
      assert.equal((await store.hit(counter, LONG, 5)).count, 7);
      assert.equal((await store.hit(keyOf('other attempts'), LONG + 0.5)).count, 1);
    },
  },
  {
    name: 'counters: the window is that of the first hit and no later one moves it',
    async run(store) {
      const before = Date.now();
      const { resetsAt } = await store.hit(counter, LONG);
      assert.ok(Math.abs(resetsAt - before - LONG) < LONG / 10, `resets at ${resetsAt}, began at ${before}`);
      await pass(before);
      assert.equal((await store.hit(counter, LONG * 2)).resetsAt, resetsAt);
    },
  },
  {
    name: 'counters: when the window ends the count starts again',
    async run(store) {
      const { resetsAt } = await store.hit(counter, SHORT, 3);
      await pass(resetsAt);
      assert.equal((await store.hit(counter, SHORT, 0)).count, 0);
      const next = await store.hit(counter, LONG);
      assert.equal(next.count, 1);
      assert.ok(next.resetsAt > resetsAt);
    },
  },
  {
    name: 'counters: by 0 reads, and starts no window',
    async run(store) {
      assert.equal((await store.hit(counter, SHORT, 0)).count, 0);
      const { resetsAt } = await store.hit(counter, LONG, 2);
      assert.ok(resetsAt > Date.now() + SHORT * 2);
      assert.deepEqual(await store.hit(counter, LONG, 0), { count: 2, resetsAt });
    },
  },
  {
    name: 'counters: a negative hit gives back and never goes below 0',
    async run(store) {
      assert.equal((await store.hit(counter, LONG, -1)).count, 0);
      await store.hit(counter, LONG, 3);
      assert.equal((await store.hit(counter, LONG, -1)).count, 2);
      assert.equal((await store.hit(counter, LONG, -5)).count, 0);
      assert.equal((await store.hit(counter, LONG)).count, 1);
    },
  },
  {
    name: 'counters: 50 hits at once are each counted (G3)',
    async run(store) {
      const counts = (await atOnce(50, () => store.hit(counter, LONG))).map(({ count }) => count);
      assert.deepEqual(
        counts.toSorted((a, b) => a - b),
        Array.from({ length: 50 }, (_, index) => index + 1),
      );
    },
  },
];
