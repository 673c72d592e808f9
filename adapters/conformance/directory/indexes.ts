import assert from 'node:assert/strict';
import type { DirectoryStore, Where } from '../../../lib/store/directory-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { assertFinds, member, openMembers, userOf } from './member.js';

export const indexCases: readonly ConformanceCase<DirectoryStore>[] = [
  {
    name: 'indexes: rows are found by one field, by several and by nested ones',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(member('a', { externalId: 'x', ...userOf('a', { nameKey: 'alice' }) }));
      await rows.insert(member('b', { tid: 't2', externalId: 'x' }));
      await rows.insert(member('c', { externalId: 'x' }));
      await assertFinds(rows, { byTenant: ['t1'] }, 'a', 'c');
      await assertFinds(rows, { byExternalId: ['t1', 'x'] }, 'a', 'c');
      await assertFinds(rows, { byUserName: ['t1', 'alice'] }, 'a');
      await assertFinds(rows, { byUser: ['user of a'] }, 'a');
      await assertFinds(rows, { byTenant: ['t3'] });
    },
  },
  {
    name: 'indexes: a row that lacks a field is not in the index',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(member('a'));
      await rows.insert(member('b', userOf('b')));
      for (const text of ['', 'undefined', 'null']) {
        await assertFinds(rows, { byUser: [text] });
        await assertFinds(rows, { byUserName: ['t1', text] });
        await assertFinds(rows, { byGroup: [text] });
      }
    },
  },
  {
    name: 'indexes: an array has a row under each element, once',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(member('a', userOf('a', { groupIds: ['g1', 'g2', 'g1'] })));
      await rows.insert(member('b', userOf('b', { groupIds: ['g2'] })));
      await rows.insert(member('c', { tid: 't2', ...userOf('c', { groupIds: ['g2'] }) }));
      await rows.insert(member('d', userOf('d', { groupIds: [] })));
      await assertFinds(rows, { byGroup: ['g1'] }, 'a');
      await assertFinds(rows, { byGroup: ['g2'] }, 'a', 'b', 'c');
      await assertFinds(rows, { byTenantAndGroup: ['t1', 'g2'] }, 'a', 'b');
      await assertFinds(rows, { byGroup: ['g1,g2'] });
    },
  },
  {
    name: 'indexes: they follow updates, puts and removals',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(member('a', { externalId: 'x', ...userOf('a', { groupIds: ['g1', 'g2'] }) }));
      await rows.update('a', (row) => ({ ...row, externalId: 'y', ...userOf('a', { groupIds: ['g2', 'g3'] }) }));
      await assertFinds(rows, { byExternalId: ['t1', 'x'] });
      await assertFinds(rows, { byExternalId: ['t1', 'y'] }, 'a');
      await assertFinds(rows, { byGroup: ['g1'] });
      await assertFinds(rows, { byGroup: ['g2'] }, 'a');
      await assertFinds(rows, { byGroup: ['g3'] }, 'a');
      assert.equal((await rows.find({ byGroup: ['g3'] }))[0]?.version, 2);
      await rows.put(member('a', { tid: 't2' }));
      for (const group of ['g2', 'g3']) await assertFinds(rows, { byGroup: [group] });
      await assertFinds(rows, { byUser: ['user of a'] });
      await assertFinds(rows, { byTenant: ['t1'] });
      await assertFinds(rows, { byTenant: ['t2'] }, 'a');
      await rows.remove('a');
      await assertFinds(rows, { byTenant: ['t2'] });
      await assertFinds(rows, {});
    },
  },
  {
    name: 'indexes: two arrays in one index are refused',
    async run(store) {
      const rows = await openMembers(store);
      const tid = ['t1', 't2'] as unknown as string;
      await assert.rejects(rows.insert(member('a', { tid, ...userOf('a', { groupIds: ['g1', 'g2'] }) })));
      await assertFinds(rows, {});
    },
  },
  {
    name: 'indexes: any other query is refused',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(member('a', { externalId: 'x' }));
      const refused: readonly Where[] = [
        { tid: ['t1'] },
        { externalId: ['x'] },
        { constructor: ['t1'] },
        { $where: ['true'] },
        { byTenant: ['t1'], byGroup: ['g1'] },
        { byTenant: [] },
        { byTenant: ['t1', 'x'] },
        { byExternalId: ['t1'] },
      ];
      for (const where of refused) await assert.rejects(rows.find(where), JSON.stringify(where));
    },
  },
];
