import assert from 'node:assert/strict';
import type { ArtifactStore } from '../../../lib/store/artifact-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { atOnce, LONG } from '../passing-time.js';
import { assertAbsent, assertCommits, assertLoses, keyOf, put, readOne, remove } from './artifact.js';
import { merge, wins } from './races.js';

const key = keyOf('a');
const counter = keyOf('counter');

/** Promises to several nodes of a service. An instance of a store must not rely on data in its own memory. */
export const peerCases: readonly ConformanceCase<ArtifactStore>[] = [
  {
    name: 'peers: what one instance wrote the other reads at once',
    async run(store, peer) {
      await assertCommits(store, put(key, { account: 'account-1' }));
      assert.equal((await readOne(peer, key))?.version, 1);
      assert.equal((await peer.listByAccount('account-1')).length, 1);
      await assertCommits(peer, put(key, { if: 'unconsumed', consumedAt: Date.now(), account: 'account-1' }));
      await assertLoses(store, key, put(key, { if: 'unconsumed', consumedAt: Date.now() }));
      await assertCommits(store, remove(key));
      await assertAbsent(peer, key);
      assert.deepEqual(await peer.listByAccount('account-1'), []);
      await assertLoses(peer, key, put(key));
    },
  },
  {
    name: 'peers: of 50 that consume one record over two instances, one wins (J1)',
    async run(store, peer) {
      await assertCommits(store, put(key));
      const results = await atOnce(50, (index) =>
        [store, peer][index % 2]!.commit([put(key, { if: 'unconsumed', consumedAt: Date.now(), value: `by ${index}` })]),
      );
      assert.equal(wins(results), 1);
      assert.equal((await readOne(peer, key))?.value, `by ${results.findIndex(({ ok }) => ok)}`);
    },
  },
  {
    name: 'peers: merges of one session over two instances lose nothing (F3)',
    async run(store, peer) {
      await assertCommits(store, put(key, { value: '[]' }));
      await atOnce(20, (index) => merge([store, peer][index % 2]!, key, `client-${index}`));
      const entries = JSON.parse((await readOne(store, key))?.value ?? '[]') as string[];
      assert.deepEqual(new Set(entries), new Set(Array.from({ length: 20 }, (_, index) => `client-${index}`)));
    },
  },
  {
    name: 'peers: counters and leases are of all instances (G3)',
    async run(store, peer) {
      const counts = await atOnce(20, (index) => [store, peer][index % 2]!.hit(counter, LONG));
      assert.deepEqual(new Set(counts.map(({ count }) => count)), new Set(Array.from({ length: 20 }, (_, index) => index + 1)));
      assert.equal(await store.lease('keys', 'node-1', LONG), true);
      assert.equal(await peer.lease('keys', 'node-2', LONG), false);
    },
  },
  {
    name: 'peers: all instances go by one clock',
    async run(store, peer) {
      if (!store.time || !peer.time) return;
      const before = await store.time();
      const between = await peer.time();
      const after = await store.time();
      assert.ok(before <= between && between <= after, `${before} ${between} ${after}`);
    },
  },
];
