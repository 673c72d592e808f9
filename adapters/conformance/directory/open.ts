import assert from 'node:assert/strict';
import type { DirectoryStore, Row } from '../../../lib/store/directory-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { atOnce } from '../passing-time.js';
import { assertFinds, conflict, member, members, openMembers, userOf } from './member.js';

export const openCases: readonly ConformanceCase<DirectoryStore>[] = [
  {
    name: 'open: a store says what it is and that it is well',
    async run(store) {
      assert.match(store.name, /^\S/);
      assert.equal(typeof store.ephemeral, 'boolean');
      await store.health();
    },
  },
  {
    name: 'open: a second time keeps the rows and the indexes',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(member('a', userOf('a', { nameKey: 'alice' })));
      const again = await openMembers(store);
      await assertFinds(again, { byUserName: ['t1', 'alice'] }, 'a');
      await assert.rejects(again.insert(member('b', userOf('b', { nameKey: 'alice' }))), conflict);
      await assertFinds(rows, {}, 'a');
    },
  },
  {
    name: 'open: many times at once, as nodes that start together do',
    async run(store) {
      await atOnce(5, () => store.open([members, { name: 'others', indexes: {} }]));
      const rows = await openMembers(store);
      await rows.insert(member('a', userOf('a', { nameKey: 'alice' })));
      await assert.rejects(rows.insert(member('b', userOf('b', { nameKey: 'alice' }))), conflict);
      await assertFinds(rows, { byTenant: ['t1'] }, 'a');
    },
  },
  {
    name: 'open: an index that is declared later covers the rows that are there',
    async run(store) {
      await store.open([{ name: members.name, indexes: {} }]);
      await store.collection<Row>(members.name).insert(member('a', { tid: 't1' }));
      await assertFinds(await openMembers(store), { byTenant: ['t1'] }, 'a');
    },
  },
  {
    name: 'open: collections are apart from one another',
    async run(store) {
      await store.open([members, { name: 'others', indexes: {} }]);
      await store.collection<Row>('others').insert({ id: 'a' });
      const rows = store.collection<Row>(members.name);
      assert.equal(await rows.get('a'), undefined);
      assert.deepEqual(await rows.find({}), []);
      assert.equal(await rows.remove('a'), false);
    },
  },
  {
    name: 'open: a collection that was not opened is refused',
    async run(store) {
      await store.open([members]);
      assert.throws(() => store.collection('unheard'), /unheard/);
    },
  },
];
