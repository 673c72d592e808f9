import assert from 'node:assert/strict';
import type { DirectoryStore, Range } from '../../../lib/store/directory-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { member, openMembers } from './member.js';
import { idsOf, inOrder, named, openNamed, positionOf, readAlong } from './ordered-rows.js';

export const orderCases: readonly ConformanceCase<DirectoryStore>[] = [
  {
    name: 'order: rows come by value and then by id, whatever the order of the writes, up or down',
    async run(store) {
      const rows = await openNamed(store);
      assert.deepEqual(await idsOf(rows, {}), inOrder);
      assert.deepEqual(await idsOf(rows, { descending: true }), inOrder.toReversed());
      assert.deepEqual(await idsOf(rows, { limit: 4 }), inOrder.slice(0, 4));
    },
  },
  {
    name: 'order: tenants are apart, and a row without the value is not in the index',
    async run(store) {
      const rows = await openNamed(store);
      assert.deepEqual(await idsOf(rows, { within: ['t2'] }), ['ben-0']);
      assert.deepEqual(await idsOf(rows, { within: ['t3'] }), []);
      const first = await rows.range({ index: 'inOrderOfName', within: ['t1'], limit: 1 });
      assert.deepEqual(await idsOf(rows, { within: ['t2'], after: positionOf(first[0]!) }), ['ben-0']);
    },
  },
  {
    name: 'order: a range has its lowest value and not its upper bound',
    async run(store) {
      const rows = await openNamed(store);
      const within = (from?: string, below?: string) =>
        inOrder.filter((id) => (from === undefined || id.slice(0, -2) >= from) && (below === undefined || id.slice(0, -2) < below));
      for (const [from, below] of [
        ['ben', 'cy'],
        ['ben', undefined],
        [undefined, 'ben'],
        ['bea', 'bf'],
        ['x', undefined],
        ['cy', 'ben'],
      ] as const) {
        const bounds = { ...(from !== undefined && { from }), ...(below !== undefined && { below }) };
        assert.deepEqual(await idsOf(rows, bounds), within(from, below));
        assert.deepEqual(await idsOf(rows, { ...bounds, descending: true }), within(from, below).toReversed());
      }
    },
  },
  {
    name: 'order: a prefix finds the texts that begin so, and no others',
    async run(store) {
      const rows = await openNamed(store);
      for (const prefix of ['', 'b', 'ben', 'ben ', 'ben b', 'x', 'BEN']) {
        const expected = inOrder.filter((id) => id.slice(0, -2).startsWith(prefix));
        assert.deepEqual(await idsOf(rows, { prefix }), expected);
        assert.deepEqual(await idsOf(rows, { prefix, descending: true }), expected.toReversed());
      }
      assert.deepEqual(await idsOf(rows, { prefix: 'b', from: 'ben b', below: 'bo' }), ['ben b-1', 'ben b-2', 'ben b-3']);
      assert.deepEqual(await readAlong(rows, { prefix: 'ben' }, 2), inOrder.slice(6, 12));
    },
  },
  {
    name: 'order: pages of any size cover all rows once, up and down, also where many have one value',
    async run(store) {
      const rows = await openNamed(store);
      for (const limit of [1, 2, 3, 7, 21, 22]) {
        assert.deepEqual(await readAlong(rows, {}, limit), inOrder);
        assert.deepEqual(await readAlong(rows, { descending: true }, limit), inOrder.toReversed());
        assert.deepEqual(await readAlong(rows, { from: 'ben', below: 'd' }, limit), inOrder.slice(6, 18));
      }
    },
  },
  {
    name: 'order: a position may lie between rows, before all and behind all',
    async run(store) {
      const rows = await openNamed(store);
      const after = (value: string, id: string, range: Partial<Range> = {}) => idsOf(rows, { after: { value, id }, limit: 2, ...range });
      assert.deepEqual(await after('ben', 'ben-15'), ['ben-2', 'ben-3']);
      assert.deepEqual(await after('ben', 'ben-15', { descending: true }), ['ben-1', 'ada-3']);
      assert.deepEqual(await after('beo', 'z'), ['bo-1', 'bo-2']);
      assert.deepEqual(await after('', 'z'), ['abe-1', 'abe-2']);
      assert.deepEqual(await after('z', 'a'), []);
      assert.deepEqual(await after('z', 'a', { descending: true }), ['d-3', 'd-2']);
      assert.deepEqual(await after('ada', 'ada-3', { from: 'cy' }), ['cy-1', 'cy-2']);
      assert.deepEqual(await after('d', 'd-1', { below: 'ben', descending: true }), ['ada-3', 'ada-2']);
      assert.deepEqual(await after('d', 'd-1', { below: 'ben' }), []);
    },
  },
  {
    name: 'order: rows that are inserted, moved or removed between two pages neither hide nor repeat others',
    async run(store) {
      const rows = await openNamed(store);
      let page = 0;
      const read = await readAlong(rows, {}, 4, async (last) => {
        page += 1;
        await rows.insert(named(`before-${page}`, ''));
        await rows.insert(named(`behind-${page}`, 'z'));
        // Rows that were read move back, and are not read again. The former position of a row stays valid.
        await rows.update(last.id, (row) => ({ ...row, nameKey: ' moved' }));
        await rows.remove('ada-1');
      });
      assert.equal(new Set(read).size, read.length);
      assert.deepEqual(
        read.filter((id) => !id.startsWith('behind-')),
        inOrder,
      );
    },
  },
  {
    name: 'order: an index follows updates, puts and removals',
    async run(store) {
      const rows = await openMembers(store);
      for (const [id, name] of [
        ['a', '1'],
        ['b', '2'],
        ['c', '3'],
      ] as const)
        await rows.insert(named(id, name));
      await rows.update('a', (row) => ({ ...row, nameKey: '4' }));
      assert.deepEqual(await idsOf(rows, {}), ['b', 'c', 'a']);
      await rows.put(member('b'));
      assert.deepEqual(await idsOf(rows, {}), ['c', 'a']);
      await rows.update('c', (row) => ({ ...row, tid: 't2' }));
      await rows.remove('a');
      assert.deepEqual(await idsOf(rows, {}), []);
      assert.deepEqual(await idsOf(rows, { within: ['t2'] }), ['c']);
    },
  },
  {
    name: 'order: 2,000 rows stay in order while they come and go',
    async run(store) {
      const rows = await openMembers(store);
      const ids = Array.from({ length: 2000 }, (_, index) => String((index * 7919) % 2000).padStart(4, '0'));
      for (let start = 0; start < ids.length; start += 100)
        await Promise.all(ids.slice(start, start + 100).map((id) => rows.insert(named(id, `n${id.slice(0, 3)}`))));
      const removed = ids.filter((_, index) => index % 3 === 0);
      for (let start = 0; start < removed.length; start += 100)
        await Promise.all(removed.slice(start, start + 100).map((id) => rows.remove(id)));
      const left = ids.filter((_, index) => index % 3 !== 0).toSorted();
      assert.deepEqual(await readAlong(rows, {}, 300), left);
      assert.deepEqual(await readAlong(rows, { descending: true }, 700), left.toReversed());
    },
  },
  {
    name: 'order: an index of texts also answers look-ups, and any other query is refused',
    async run(store) {
      const rows = await openNamed(store);
      const bens = await rows.find({ inOrderOfName: ['t1', 'ben'] });
      assert.deepEqual(
        bens.map(({ id }) => id),
        ['ben-1', 'ben-2', 'ben-3'],
      );
      const object = { $gt: '' } as unknown as string;
      const refused: readonly Partial<Range>[] = [
        { index: 'byTenant', within: [] },
        { index: 'unheard' },
        { index: 'constructor' },
        { within: [] },
        { within: ['t1', 'ben'] },
        { within: [object] },
        { from: object },
        { from: 1 },
        { below: new Date() },
        { prefix: object },
        { prefix: /b/ as unknown as string },
        { after: { value: object, id: 'a' } },
        { after: { value: 'a', id: object } },
        { index: 'inOrderOfJoining', prefix: 'a' },
        { index: 'inOrderOfJoining', from: 'a' },
        { limit: 0 },
        { limit: -1 },
        { limit: 1.5 },
      ];
      for (const range of refused) await assert.rejects(idsOf(rows, range), JSON.stringify(range));
      await assert.rejects(rows.find({ inOrderOfCount: ['1'] }));
    },
  },
];
