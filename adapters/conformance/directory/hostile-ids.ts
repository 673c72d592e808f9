import assert from 'node:assert/strict';
import type { DirectoryStore } from '../../../lib/store/directory-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { assertFinds, conflict, member, openMembers, userOf } from './member.js';

/** Unusual but legal ids, because a `client_id` may be any text. @see RFC 6749 §2.2 */
const oddTexts = [
  ' ',
  '*',
  '$ne',
  '.',
  'a.b',
  'https://app.example/cb?x=1&y=%2F#z',
  '{"$gt":""}',
  '["t1"]',
  't1","x',
  '__proto__',
  'constructor',
  'toString',
  "'; drop table members; --",
  'a\tb\r\nc',
  '✓ naïve 日本語 👩🏽‍🚀',
  'x'.repeat(500),
];

export const hostileIdCases: readonly ConformanceCase<DirectoryStore>[] = [
  {
    name: 'hostile ids: a row may have any text as its id (J4)',
    async run(store) {
      const rows = await openMembers(store);
      for (const id of oddTexts) assert.equal(await rows.get(id), undefined);
      for (const id of oddTexts) await rows.insert(member(id, { externalId: `of ${id}` }));
      for (const id of oddTexts) {
        assert.equal((await rows.get(id))?.externalId, `of ${id}`);
        assert.equal((await rows.update(id, (row) => ({ ...row, count: 1 })))?.version, 2);
        await assert.rejects(rows.insert(member(id)), conflict);
      }
      assert.deepEqual(new Set((await rows.find({})).map(({ id }) => id)), new Set(oddTexts));
      for (const id of oddTexts) assert.equal(await rows.remove(id), true);
      assert.deepEqual(await rows.find({}), []);
    },
  },
  {
    name: 'hostile ids: an indexed value may be any text and is never a pattern (J4)',
    async run(store) {
      const rows = await openMembers(store);
      for (const [index, text] of oddTexts.entries()) {
        await rows.insert(member(`m${index}`, { tid: text, ...userOf(`m${index}`, { groupIds: [text] }) }));
      }
      for (const [index, text] of oddTexts.entries()) {
        await assertFinds(rows, { byTenant: [text] }, `m${index}`);
        await assertFinds(rows, { byTenantAndGroup: [text, text] }, `m${index}`);
      }
    },
  },
  {
    name: 'hostile ids: values do not run into one another',
    async run(store) {
      const rows = await openMembers(store);
      const pairs = [
        ['a', 'b,c'],
        ['a,b', 'c'],
        ['a"', '"b'],
        ['a","', 'b'],
        ['a:', 'b'],
        ['a', ':b'],
      ] as const;
      for (const [index, [tid, externalId]] of pairs.entries()) await rows.insert(member(`m${index}`, { tid, externalId }));
      for (const [index, pair] of pairs.entries()) await assertFinds(rows, { byExternalId: [...pair] }, `m${index}`);
    },
  },
  {
    name: 'hostile ids: an object in the place of a text finds nothing (A9)',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(member('a'));
      for (const object of [{ $ne: '' }, { $gt: '' }, ['a'], /./, null, undefined]) {
        const text = object as unknown as string;
        assert.equal(await rows.get(text).catch(() => undefined), undefined);
        assert.equal(await rows.remove(text).catch(() => false), false);
        await assert.rejects(rows.find({ byTenant: [text] }));
        await assert.rejects(rows.insert(member(text)));
      }
      await assert.rejects(rows.insert(member('')));
      await assertFinds(rows, {}, 'a');
    },
  },
  {
    name: 'hostile ids: members of any name come back as they were',
    async run(store) {
      const rows = await openMembers(store);
      const attributes = JSON.parse(
        '{"a.b":1,"$set":2,"urn:x:y.z":{"$ne":3},"__proto__":{"admin":true},"constructor":4,"":5,"æ ✓":6}',
      ) as Record<string, unknown>;
      await rows.insert(member('a', { attributes }));
      const row = await rows.get('a');
      assert.deepEqual(row?.attributes, attributes);
      assert.ok(!('admin' in (row?.attributes ?? {})));
    },
  },
];
