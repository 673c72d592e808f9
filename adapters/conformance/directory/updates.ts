import assert from 'node:assert/strict';
import type { DirectoryStore } from '../../../lib/store/directory-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { assertFinds, member, openMembers } from './member.js';

export const updateCases: readonly ConformanceCase<DirectoryStore>[] = [
  {
    name: 'updates: change gets the current row, and the row as it is then is returned',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(member('a', { count: 1, externalId: 'x' }));
      const updated = await rows.update('a', (row) => {
        assert.deepEqual(row, { id: 'a', tid: 't1', count: 1, externalId: 'x', version: 1 });
        return { ...row, count: 2, version: 9 };
      });
      assert.deepEqual(updated, { id: 'a', tid: 't1', count: 2, externalId: 'x', version: 2 });
      assert.deepEqual(await rows.get('a'), updated);
    },
  },
  {
    name: 'updates: a field that change leaves out is gone',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(member('a', { externalId: 'x' }));
      await rows.update('a', ({ externalId: _, ...rest }) => rest);
      assert.deepEqual(await rows.get('a'), { id: 'a', tid: 't1', version: 2 });
      await assertFinds(rows, { byExternalId: ['t1', 'x'] });
    },
  },
  {
    name: 'updates: an absent row is undefined and change is not called',
    async run(store) {
      const rows = await openMembers(store);
      const change = () => assert.fail('called');
      assert.equal(await rows.update('a', change), undefined);
      assert.equal(await rows.get('a'), undefined);
    },
  },
  {
    name: 'updates: what change throws is thrown on and nothing is written',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(member('a'));
      const refusal = new Error('refused');
      const thrown = await rows
        .update('a', () => {
          throw refusal;
        })
        .catch((error: unknown) => error);
      assert.equal(thrown, refusal);
      assert.equal((await rows.get('a'))?.version, 1);
    },
  },
  {
    name: 'updates: change that returns its argument writes nothing',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(member('a'));
      assert.equal((await rows.update('a', (row) => row))?.version, 1);
      assert.equal((await rows.get('a'))?.version, 1);
    },
  },
  {
    name: 'updates: a change of the id is refused',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(member('a'));
      await assert.rejects(rows.update('a', (row) => ({ ...row, id: 'b' })));
      await assertFinds(rows, {}, 'a');
    },
  },
];
