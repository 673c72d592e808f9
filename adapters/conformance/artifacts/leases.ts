import assert from 'node:assert/strict';
import type { ArtifactStore } from '../../../lib/store/artifact-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { atOnce, LONG, pass, SHORT } from '../passing-time.js';

export const leaseCases: readonly ConformanceCase<ArtifactStore>[] = [
  {
    name: 'leases: one holder at a time, each lease for itself',
    async run(store) {
      assert.equal(await store.lease('keys', 'node-1', LONG), true);
      assert.equal(await store.lease('keys', 'node-2', LONG), false);
      // One and a half times the interval of a job need not be a whole number.
      assert.equal(await store.lease('events', 'node-2', LONG + 0.5), true);
    },
  },
  {
    name: 'leases: the holder renews',
    async run(store) {
      const soon = Date.now() + SHORT;
      await store.lease('keys', 'node-1', SHORT);
      assert.equal(await store.lease('keys', 'node-1', LONG), true);
      await pass(soon);
      assert.equal(await store.lease('keys', 'node-2', LONG), false);
    },
  },
  {
    name: 'leases: one that ended is free to others, and its former holder has to wait',
    async run(store) {
      await store.lease('keys', 'node-1', SHORT);
      await pass(Date.now() + SHORT);
      assert.equal(await store.lease('keys', 'node-2', LONG), true);
      assert.equal(await store.lease('keys', 'node-1', LONG), false);
    },
  },
  {
    name: 'leases: the holder gives back',
    async run(store) {
      await store.lease('keys', 'node-1', LONG);
      assert.equal(await store.lease('keys', 'node-1', 0), true);
      assert.equal(await store.lease('keys', 'node-2', LONG), true);
    },
  },
  {
    name: "leases: another's lease, or none, is not given back",
    async run(store) {
      assert.equal(await store.lease('keys', 'node-2', 0), false);
      await store.lease('keys', 'node-1', LONG);
      assert.equal(await store.lease('keys', 'node-2', 0), false);
      assert.equal(await store.lease('keys', 'node-2', LONG), false);
      assert.equal(await store.lease('keys', 'node-1', LONG), true);
    },
  },
  {
    name: 'leases: of 50 that ask at once one gets it',
    async run(store) {
      const answers = await atOnce(50, (index) => store.lease('keys', `node-${index}`, LONG));
      assert.equal(answers.filter((isHolder) => isHolder).length, 1);
    },
  },
];
