import assert from 'node:assert/strict';
import type { ArtifactStore } from '../../../lib/store/artifact-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { LONG, pass, SHORT } from '../passing-time.js';
import { assertAbsent, assertCommits, assertLoses, keyOf, put, readOne, remove } from './artifact.js';

const key = keyOf('a');
const other = keyOf('b');

export const tombstoneCases: readonly ConformanceCase<ArtifactStore>[] = [
  {
    name: 'tombstones: a removed record reads as absent',
    async run(store) {
      await assertCommits(store, put(key), put(other));
      await assertCommits(store, remove(key));
      await assertAbsent(store, key);
      assert.notEqual(await readOne(store, other), undefined);
    },
  },
  {
    name: 'tombstones: no put revives a removed key, with or without a condition (F2)',
    async run(store) {
      await assertCommits(store, put(key));
      await assertCommits(store, remove(key));
      for (const condition of [{}, { if: 'absent' }, { if: 'unconsumed' }, { if: { version: 1 } }] as const) {
        await assertLoses(store, key, put(key, condition));
        await assertLoses(store, key, put(other), put(key, condition));
      }
      await assertAbsent(store, key, other);
    },
  },
  {
    name: 'tombstones: a key that never was can be removed for good',
    async run(store) {
      await assertCommits(store, remove(key));
      await assertLoses(store, key, put(key));
      await assertLoses(store, key, put(key, { if: 'absent' }));
      await assertAbsent(store, key);
    },
  },
  {
    name: 'tombstones: a key is free again when its tombstone ends',
    async run(store) {
      await assertCommits(store, put(key, { value: 'old' }));
      const until = Date.now() + SHORT;
      await assertCommits(store, remove(key, until));
      await pass(until);
      await assertAbsent(store, key);
      await assertCommits(store, put(key, { if: 'absent', value: 'new' }));
      assert.equal((await readOne(store, key))?.value, 'new');
      assert.equal((await readOne(store, key))?.version, 1);
    },
  },
  {
    name: 'tombstones: one that lasts longer than its record did still holds',
    async run(store) {
      const soon = Date.now() + SHORT;
      await assertCommits(store, put(key, { expiresAt: soon }));
      await assertCommits(store, remove(key));
      await pass(soon);
      await assertLoses(store, key, put(key));
    },
  },
  {
    name: 'tombstones: a second removal never shortens the first, and may lengthen it',
    async run(store) {
      const soon = Date.now() + SHORT;
      await assertCommits(store, remove(key), remove(other, soon));
      await assertCommits(store, remove(key, soon), remove(other, Date.now() + LONG));
      await pass(soon);
      await assertLoses(store, key, put(key));
      await assertLoses(store, other, put(other));
    },
  },
  {
    name: 'tombstones: one record is removed and its successor put in one commit',
    async run(store) {
      await assertCommits(store, put(key));
      await assertCommits(store, remove(key), put(other, { if: 'absent' }));
      await assertAbsent(store, key);
      assert.notEqual(await readOne(store, other), undefined);
    },
  },
];
