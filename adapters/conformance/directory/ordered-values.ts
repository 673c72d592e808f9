import assert from 'node:assert/strict';
import type { DirectoryStore } from '../../../lib/store/directory-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { conflict, member, openMembers, userOf } from './member.js';
import { idsOf, named, readAlong } from './ordered-rows.js';

/** Texts in their order, from the lowest to the highest. */
const hostileTexts = [
  '',
  '\t',
  ' ',
  '"}',
  '$gt',
  '.*',
  '["t1"]',
  '\\',
  '__proto__',
  'a',
  'a\u0000',
  'a\u0000b',
  'a b',
  'aa',
  'b',
  '{"$gt":""}',
  '\u007f',
  'e\u0301',
  'é',
  '日本',
  '\ud7ff',
  '\ue000',
  '\uffff',
  '\u{10000}',
  '👩🏽‍🚀',
  '\u{10ffff}',
  '\u{10ffff}\u{10ffff}',
].toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));

/** Values that an index orders: texts, instants, numbers. The values may be unique, and a row may have several values. */
export const orderedValueCases: readonly ConformanceCase<DirectoryStore>[] = [
  {
    name: 'order: texts come in the order of their code points, and none is a pattern (J4)',
    async run(store) {
      const rows = await openMembers(store);
      for (const [index, text] of hostileTexts.entries()) await rows.insert(named(`m${(index * 7) % 27}`, text));
      const read = await rows.range({ index: 'inOrderOfName', within: ['t1'], limit: 100 });
      assert.deepEqual(
        read.map(({ nameKey }) => nameKey),
        hostileTexts,
      );
      for (const prefix of hostileTexts) {
        const begun = await rows.range({ index: 'inOrderOfName', within: ['t1'], prefix, limit: 100 });
        assert.deepEqual(
          begun.map(({ nameKey }) => nameKey),
          hostileTexts.filter((text) => text.startsWith(prefix)),
        );
        assert.equal((await idsOf(rows, { from: prefix })).length, hostileTexts.length - hostileTexts.indexOf(prefix));
      }
      for (const limit of [1, 4])
        assert.deepEqual(
          await readAlong(rows, {}, limit),
          read.map(({ id }) => id),
        );
    },
  },
  {
    name: 'order: instants and numbers come from the lowest',
    async run(store) {
      const rows = await openMembers(store);
      const instants = [-1, 0, 1, 999, 1_700_000_000_123];
      for (const [index, time] of instants.toReversed().entries())
        await rows.insert(member(`m${index}`, { joinedAt: new Date(time), count: time * 1.5 }));
      const expected = ['m4', 'm3', 'm2', 'm1', 'm0'];
      assert.deepEqual(await idsOf(rows, { index: 'inOrderOfJoining' }), expected);
      assert.deepEqual(await idsOf(rows, { index: 'inOrderOfJoining', from: new Date(0), below: new Date(999) }), ['m3', 'm2']);
      assert.deepEqual(await idsOf(rows, { index: 'inOrderOfJoining', after: { value: new Date(1), id: 'm2' } }), ['m1', 'm0']);
      assert.deepEqual(await idsOf(rows, { index: 'inOrderOfCount', within: [] }), expected);
      assert.deepEqual(await idsOf(rows, { index: 'inOrderOfCount', within: [], from: 0, descending: true, limit: 2 }), ['m0', 'm1']);
    },
  },
  {
    name: 'order: an index may be unique, within the other fields',
    async run(store) {
      const rows = await openMembers(store);
      const numbered = (id: string, number: number, tid = 't1') => member(id, { tid, number });
      for (const number of [3, 1, 2]) await rows.insert(numbered(`m${number}`, number));
      await assert.rejects(rows.insert(numbered('other', 2)), conflict);
      await rows.insert(numbered('other', 2, 't2'));
      const index = 'inOrderOfNumber';
      assert.deepEqual(await idsOf(rows, { index }), ['m1', 'm2', 'm3']);
      assert.deepEqual(await idsOf(rows, { index, after: { value: 1, id: 'm1' } }), ['m2', 'm3']);
      assert.deepEqual(await idsOf(rows, { index, after: { value: 3, id: 'm3' }, descending: true }), ['m2', 'm1']);
      await rows.remove('m2');
      await rows.insert(numbered('again', 2));
      assert.deepEqual(await idsOf(rows, { index, from: 2 }), ['again', 'm3']);
    },
  },
  {
    name: 'order: within an array, a row is under each element; the field that orders is no array',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert({ ...named('a', '2'), ...userOf('a', { groupIds: ['g1', 'g2'] }) });
      await rows.insert({ ...named('b', '1'), ...userOf('b', { groupIds: ['g2'] }) });
      const index = 'inOrderOfGroupAndName';
      assert.deepEqual(await idsOf(rows, { index, within: ['t1', 'g1'] }), ['a']);
      assert.deepEqual(await idsOf(rows, { index, within: ['t1', 'g2'] }), ['b', 'a']);
      await assert.rejects(rows.insert(member('c', { nameKey: ['1', '2'] as unknown as string })));
      assert.equal(await rows.get('c'), undefined);
    },
  },
];
