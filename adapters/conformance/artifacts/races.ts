import assert from 'node:assert/strict';
import type { ArtifactKey, ArtifactStore, CommitResult } from '../../../lib/store/artifact-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { atOnce } from '../passing-time.js';
import { assertAbsent, assertCommits, keyOf, put, readOne, remove } from './artifact.js';

const key = keyOf('a');
export const wins = (results: readonly CommitResult[]): number => results.filter(({ ok }) => ok).length;

/**
 * Adds an entry to a record that holds a list, as requests of one session do. Reads, merges and swaps, and repeats these steps after a concurrent write.
 */
export async function merge(store: ArtifactStore, key: ArtifactKey, entry: string): Promise<void> {
  for (;;) {
    const current = await readOne(store, key);
    if (current === undefined) return;
    const value = JSON.stringify([...(JSON.parse(current.value) as string[]), entry]);
    if ((await store.commit([put(key, { value, if: { version: current.version } })])).ok) return;
  }
}

export const raceCases: readonly ConformanceCase<ArtifactStore>[] = [
  {
    name: 'races: of 50 that consume one record at once, one wins (J1)',
    async run(store) {
      await assertCommits(store, put(key));
      const results = await atOnce(50, (index) =>
        store.commit([put(key, { if: 'unconsumed', consumedAt: Date.now(), value: `by ${index}` })]),
      );
      assert.equal(wins(results), 1);
      const record = await readOne(store, key);
      assert.equal(record?.value, `by ${results.findIndex(({ ok }) => ok)}`);
      assert.equal(record?.version, 2);
    },
  },
  {
    name: 'races: of 50 that put one absent record at once, one wins (J1)',
    async run(store) {
      const results = await atOnce(50, (index) => store.commit([put(key, { if: 'absent', value: `by ${index}` })]));
      assert.equal(wins(results), 1);
      assert.equal((await readOne(store, key))?.value, `by ${results.findIndex(({ ok }) => ok)}`);
    },
  },
  {
    name: 'races: of 50 that consume a record and put what it buys, only the winner puts (J1)',
    async run(store) {
      await assertCommits(store, put(key));
      const bought = (index: number) => keyOf(`bought ${index}`);
      const results = await atOnce(50, (index) =>
        store.commit([put(bought(index), { if: 'absent', account: 'account-1' }), put(key, { if: 'unconsumed', consumedAt: Date.now() })]),
      );
      assert.equal(wins(results), 1);
      const listed = (await store.listByAccount('account-1')).map((artifact) => artifact.key);
      assert.deepEqual(listed, [bought(results.findIndex(({ ok }) => ok))]);
      await assertAbsent(store, ...results.flatMap(({ ok }, index) => (ok ? [] : [bought(index)])));
    },
  },
  {
    name: 'races: 25 merges of one session at once lose nothing (F3)',
    async run(store) {
      await assertCommits(store, put(key, { value: '[]' }));
      await atOnce(25, (index) => merge(store, key, `client-${index}`));
      const record = await readOne(store, key);
      assert.deepEqual(
        new Set(JSON.parse(record?.value ?? '[]') as string[]),
        new Set(Array.from({ length: 25 }, (_, index) => `client-${index}`)),
      );
      assert.equal(record?.version, 26);
    },
  },
  {
    name: 'races: 25 unconditional puts at once are each counted in the version',
    async run(store) {
      assert.equal(wins(await atOnce(25, () => store.commit([put(key)]))), 25);
      assert.equal((await readOne(store, key))?.version, 25);
    },
  },
  {
    name: 'races: a session that is destroyed among late writes stays destroyed (F2)',
    async run(store) {
      await assertCommits(store, put(key, { value: '[]', account: 'account-1' }));
      await atOnce(30, async (index) => {
        if (index === 15) await assertCommits(store, remove(key));
        else if (index % 2 === 0) await store.commit([put(key, { value: '[]', account: 'account-1' })]);
        else await merge(store, key, `client-${index}`);
      });
      await assertAbsent(store, key);
      assert.deepEqual(await store.listByAccount('account-1'), []);
    },
  },
];
