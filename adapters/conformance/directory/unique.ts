import assert from 'node:assert/strict';
import type { DirectoryStore } from '../../../lib/store/directory-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { assertFinds, conflict, member, openMembers, userOf } from './member.js';

const named = (id: string, nameKey: string, tid = 't1') => member(id, { tid, ...userOf(id, { nameKey }) });

export const uniqueCases: readonly ConformanceCase<DirectoryStore>[] = [
  {
    name: 'unique: insert, put and update refuse a value that another row has, and write nothing',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(named('a', 'alice'));
      const bob = await rows.insert({ ...named('b', 'bob'), externalId: 'kept' });
      await assert.rejects(rows.insert({ ...named('c', 'alice'), externalId: 'lost' }), conflict);
      await assert.rejects(rows.put({ ...named('c', 'alice'), externalId: 'lost' }), conflict);
      await assert.rejects(rows.put({ ...named('b', 'alice'), externalId: 'lost' }), conflict);
      await assert.rejects(
        rows.update('b', (row) => ({ ...row, ...userOf('b', { nameKey: 'alice' }), externalId: 'lost' })),
        conflict,
      );
      assert.equal(await rows.get('c'), undefined);
      assert.deepEqual(await rows.get('b'), bob);
      await assertFinds(rows, { byUserName: ['t1', 'alice'] }, 'a');
      await assertFinds(rows, { byUserName: ['t1', 'bob'] }, 'b');
      await assertFinds(rows, { byExternalId: ['t1', 'lost'] });
      await assertFinds(rows, { byExternalId: ['t1', 'kept'] }, 'b');
      await assertFinds(rows, {}, 'a', 'b');
    },
  },
  {
    name: 'unique: a refused row reserves none of its other values',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(named('a', 'alice'));
      await assert.rejects(rows.insert(member('b', userOf('b', { nameKey: 'alice', identityKeys: ['i1'] }))), conflict);
      await rows.insert(member('c', { user: { ...userOf('b').user!, nameKey: 'carol', identityKeys: ['i1'] } }));
      await assertFinds(rows, { byUser: ['user of b'] }, 'c');
    },
  },
  {
    name: 'unique: a row may keep its own values',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(named('a', 'alice'));
      await rows.put(named('a', 'alice'));
      assert.equal((await rows.update('a', (row) => ({ ...row, count: 1 })))?.version, 3);
    },
  },
  {
    name: 'unique: it is the combination of all fields that counts',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(named('a', 'alice', 't1'));
      await rows.insert(named('b', 'alice', 't2'));
      await assertFinds(rows, { byUserName: ['t2', 'alice'] }, 'b');
      await assert.rejects(rows.put(named('b', 'alice', 't1')), conflict);
    },
  },
  {
    name: 'unique: rows that lack a field do not conflict',
    async run(store) {
      const rows = await openMembers(store);
      for (const id of ['a', 'b', 'c']) await rows.insert(member(id));
      await rows.insert(member('d', userOf('d')));
      await rows.insert(member('e', userOf('e')));
      await assertFinds(rows, {}, 'a', 'b', 'c', 'd', 'e');
    },
  },
  {
    name: 'unique: values are compared exactly',
    async run(store) {
      const rows = await openMembers(store);
      const names = ['alice', 'Alice', 'alice ', 'álice', 'a\u0301lice', 'ALICE', ''];
      for (const [index, name] of names.entries()) await rows.insert(named(`m${index}`, name));
      for (const [index, name] of names.entries()) await assertFinds(rows, { byUserName: ['t1', name] }, `m${index}`);
    },
  },
  {
    name: 'unique: a value is free again once its row changed or went',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(named('a', 'alice'));
      await rows.update('a', (row) => ({ ...row, ...userOf('a', { nameKey: 'alison' }) }));
      await rows.insert(named('b', 'alice'));
      await rows.remove('a');
      await rows.insert(named('c', 'alison'));
      await assertFinds(rows, { byUserName: ['t1', 'alice'] }, 'b');
      await assertFinds(rows, { byUserName: ['t1', 'alison'] }, 'c');
    },
  },
  {
    name: 'unique: of an array each element is',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(member('a', userOf('a', { identityKeys: ['i1', 'i2'] })));
      await assert.rejects(rows.insert(member('b', userOf('b', { identityKeys: ['i3', 'i2'] }))), conflict);
      await rows.insert(member('b', userOf('b', { identityKeys: ['i3', 'i3'] })));
      await assertFinds(rows, { byIdentity: ['i3'] }, 'b');
    },
  },
];
