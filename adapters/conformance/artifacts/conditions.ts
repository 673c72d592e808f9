import assert from 'node:assert/strict';
import type { ArtifactStore } from '../../../lib/store/artifact-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { assertAbsent, assertCommits, assertLoses, keyOf, put, readOne, remove } from './artifact.js';

const key = keyOf('a');
const other = keyOf('b');
const third = keyOf('c');

export const conditionCases: readonly ConformanceCase<ArtifactStore>[] = [
  {
    name: 'conditions: absent holds once',
    async run(store) {
      await assertCommits(store, put(key, { if: 'absent', value: 'first' }));
      await assertLoses(store, key, put(key, { if: 'absent', value: 'second' }));
      assert.equal((await readOne(store, key))?.value, 'first');
      assert.equal((await readOne(store, key))?.version, 1);
    },
  },
  {
    name: 'conditions: unconsumed needs a record that was not spent',
    async run(store) {
      const consume = put(key, { if: 'unconsumed', consumedAt: Date.now(), value: 'spent' });
      await assertLoses(store, key, consume);
      await assertAbsent(store, key);
      await assertCommits(store, put(key));
      await assertCommits(store, consume);
      await assertLoses(store, key, { ...consume, value: 'spent twice' });
      assert.equal((await readOne(store, key))?.value, 'spent');
      assert.equal((await readOne(store, key))?.consumedAt, consume.consumedAt);
    },
  },
  {
    name: 'conditions: a version needs a record of exactly this one',
    async run(store) {
      await assertLoses(store, key, put(key, { if: { version: 1 } }));
      await assertCommits(store, put(key));
      for (const version of [0, 2, 10]) await assertLoses(store, key, put(key, { if: { version } }));
      await assertCommits(store, put(key, { if: { version: 1 }, value: 'second' }));
      await assertLoses(store, key, put(key, { if: { version: 1 }, value: 'stale' }));
      assert.equal((await readOne(store, key))?.value, 'second');
      assert.equal((await readOne(store, key))?.version, 2);
    },
  },
  {
    name: 'conditions: when one of several writes loses, nothing of the commit is written',
    async run(store) {
      await assertCommits(store, put(key, { value: 'kept', account: 'account-1' }), put(other, { value: 'kept' }));
      const lost = put(other, { if: 'absent' });
      const rest = [put(third, { account: 'account-2' }), remove(key)];
      for (const writes of [
        [lost, ...rest],
        [...rest, lost],
        [rest[0]!, lost, rest[1]!],
      ]) {
        await assertLoses(store, other, ...writes);
        assert.equal((await readOne(store, key))?.version, 1);
        assert.equal((await readOne(store, other))?.value, 'kept');
        await assertAbsent(store, third);
        assert.equal((await store.listByAccount('account-1')).length, 1);
        assert.deepEqual(await store.listByAccount('account-2'), []);
      }
      await assertCommits(store, put(key, { if: { version: 1 } }), put(third, { if: 'absent' }));
    },
  },
  {
    name: 'conditions: the first lost write is the one that is named',
    async run(store) {
      await assertCommits(store, put(other));
      await assertLoses(store, other, put(key, { if: 'absent' }), put(other, { if: 'absent' }), put(third, { if: 'unconsumed' }));
    },
  },
  {
    name: 'conditions: several that hold commit together',
    async run(store) {
      await assertCommits(store, put(key), put(other));
      await assertCommits(
        store,
        put(key, { if: 'unconsumed', consumedAt: Date.now() }),
        put(other, { if: { version: 1 }, value: 'second' }),
        put(third, { if: 'absent' }),
      );
      assert.equal((await store.read([{ key }, { key: other }, { key: third }])).size, 3);
      assert.equal((await readOne(store, other))?.value, 'second');
    },
  },
  {
    name: 'conditions: writes to several slots are all done or none',
    async run(store) {
      const [here, there] = [keyOf('here', 'slot-1'), keyOf('there', 'slot-2')];
      await assertCommits(store, put(here, { if: 'absent', value: 'kept' }), put(there, { if: 'absent' }));
      await assertCommits(store, remove(there, Date.now()));
      await assertLoses(store, here, put(there, { if: 'absent' }), put(here, { if: 'absent' }));
      await assertLoses(store, here, put(here, { if: 'absent' }), put(there, { if: 'absent' }));
      await assertAbsent(store, there);
      assert.equal((await readOne(store, here))?.value, 'kept');
    },
  },
  {
    name: 'conditions: a key that occurs twice in one commit is refused',
    async run(store) {
      await assert.rejects(store.commit([put(key, { if: 'absent' }), put(other), remove(key)]));
      await assertAbsent(store, key, other);
    },
  },
];
