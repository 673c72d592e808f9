import assert from 'node:assert/strict';
import { isDate } from 'node:util/types';
import type { DirectoryStore } from '../../../lib/store/directory-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { assertFinds, conflict, member, openMembers, userOf } from './member.js';

function assertDeeplyFrozen(value: unknown): void {
  if (typeof value !== 'object' || value === null || isDate(value)) return;
  assert.ok(Object.isFrozen(value), `not frozen: ${JSON.stringify(value)}`);
  for (const part of Object.values(value)) assertDeeplyFrozen(part);
}

export const contractCases: readonly ConformanceCase<DirectoryStore>[] = [
  {
    name: 'contract: a row that is inserted comes back whole, as version 1',
    async run(store) {
      const rows = await openMembers(store);
      const given = member('a', {
        externalId: '4711',
        ...userOf('a', { nameKey: 'alice', groupIds: ['g1', 'g2'], notBefore: new Date(1_700_000_000_123) }),
        attributes: {
          text: 'x',
          number: 1.5,
          yes: true,
          none: null,
          list: [1, [2, { three: 3 }]],
          empty: {},
          blank: [],
        },
        joinedAt: new Date(0),
      });
      const expected = { ...given, version: 1 };
      assert.deepEqual(await rows.insert(given), expected);
      assert.deepEqual(await rows.get('a'), expected);
      assert.deepEqual(await rows.find({}), [expected]);
    },
  },
  {
    name: 'contract: a row of a quarter of a megabyte comes back whole, before and after an update',
    async run(store) {
      const rows = await openMembers(store);
      const notes = Array.from({ length: 1000 }, (_, index) => ({ index, text: 'x'.repeat(250) }));
      await rows.insert(member('a', { attributes: { notes } }));
      await rows.update('a', (row) => ({ ...row, count: 1 }));
      const read = await rows.get('a');
      assert.deepEqual(read?.attributes?.notes, notes);
      assert.equal(read?.count, 1);
    },
  },
  {
    name: 'contract: what is absent is undefined, false or empty',
    async run(store) {
      const rows = await openMembers(store);
      assert.equal(await rows.get('a'), undefined);
      assert.equal(await rows.remove('a'), false);
      assert.deepEqual(await rows.find({}), []);
      assert.deepEqual(await rows.find({ byTenant: ['t1'] }, { limit: 1 }), []);
    },
  },
  {
    name: 'contract: an insert refuses an id that is taken and writes nothing',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(member('a', { externalId: 'first' }));
      await assert.rejects(rows.insert(member('a', { externalId: 'second' })), conflict);
      assert.deepEqual(await rows.get('a'), { id: 'a', tid: 't1', externalId: 'first', version: 1 });
      await assertFinds(rows, { byExternalId: ['t1', 'second'] });
    },
  },
  {
    name: 'contract: a put creates, then replaces, and counts the version itself',
    async run(store) {
      const rows = await openMembers(store);
      assert.deepEqual(await rows.put(member('a', { count: 1, version: 7 })), {
        id: 'a',
        tid: 't1',
        count: 1,
        version: 1,
      });
      assert.deepEqual(await rows.put(member('a', { externalId: 'x', version: 7 })), {
        id: 'a',
        tid: 't1',
        externalId: 'x',
        version: 2,
      });
      assert.deepEqual(await rows.get('a'), { id: 'a', tid: 't1', externalId: 'x', version: 2 });
    },
  },
  {
    name: 'contract: a row that is removed by its version goes only while it has that version',
    async run(store) {
      const rows = await openMembers(store);
      const { version } = await rows.insert(member('a'));
      const changed = await rows.update('a', (row) => ({ ...row }));
      assert.equal(await rows.remove('a', version), false);
      assert.equal((await rows.get('a'))?.version, changed?.version);
      assert.equal(await rows.remove('a', changed?.version), true);
      assert.equal(await rows.get('a'), undefined);
      assert.equal(await rows.remove('a', changed?.version), false);
    },
  },
  {
    name: 'contract: a removed row is gone, and its id free',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(member('a'));
      assert.equal(await rows.remove('a'), true);
      assert.equal(await rows.get('a'), undefined);
      assert.equal(await rows.remove('a'), false);
      assert.equal((await rows.insert(member('a'))).version, 1);
    },
  },
  {
    name: 'contract: instants come back as Dates, at any depth',
    async run(store) {
      const rows = await openMembers(store);
      const joinedAt = new Date('2024-02-29T23:59:59.999Z');
      await rows.insert(member('a', { joinedAt, attributes: { list: [{ at: new Date(1) }] } }));
      const row = await rows.get('a');
      assert.ok(isDate(row?.joinedAt));
      assert.equal(row.joinedAt.getTime(), joinedAt.getTime());
      const { list } = row.attributes as { list: readonly [{ at: unknown }] };
      assert.ok(isDate(list[0].at));
      assert.equal(list[0].at.getTime(), 1);
    },
  },
  {
    name: 'contract: a member that is undefined is absent',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(member('a', { externalId: undefined, attributes: { none: undefined } }));
      assert.deepEqual(await rows.get('a'), { id: 'a', tid: 't1', attributes: {}, version: 1 });
      await rows.update('a', (row) => ({ ...row, attributes: undefined as never }));
      assert.deepEqual(await rows.get('a'), { id: 'a', tid: 't1', version: 2 });
    },
  },
  {
    name: 'contract: rows come back deeply frozen',
    async run(store) {
      const rows = await openMembers(store);
      const given = member('a', { ...userOf('a', { groupIds: ['g1'] }), attributes: { list: [{ deep: {} }] } });
      const returned = [
        await rows.insert(given),
        await rows.put(given),
        await rows.update('a', (row) => {
          assertDeeplyFrozen(row);
          return { ...row, count: 1 };
        }),
        await rows.update('a', (row) => row),
        await rows.get('a'),
        ...(await rows.find({})),
        ...(await rows.find({ byGroup: ['g1'] })),
      ];
      assert.equal(returned.length, 7);
      for (const row of returned) assertDeeplyFrozen(row);
    },
  },
  {
    name: 'contract: what is done afterwards to a row that was given does not reach the store',
    async run(store) {
      const rows = await openMembers(store);
      const groupIds = ['g1'];
      const given = member('a', { ...userOf('a', { groupIds }), joinedAt: new Date(1) });
      await rows.insert(given);
      groupIds.push('g2');
      given.joinedAt?.setTime(2);
      const row = await rows.get('a');
      assert.deepEqual(row?.user?.groupIds, ['g1']);
      assert.equal(row?.joinedAt?.getTime(), 1);
      await assertFinds(rows, { byGroup: ['g2'] });
    },
  },
];
