import assert from 'node:assert/strict';
import type { Collection, DirectoryStore, Where } from '../../../lib/store/directory-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { type Member, member, openMembers } from './member.js';

const numbered = (index: number): string => `m${String(index).padStart(3, '0')}`;
const ids = Array.from({ length: 25 }, (_, index) => numbered(index * 2));

/** Returns all ids by pages. `between` runs after each page. */
async function readPages(
  rows: Collection<Member>,
  where: Where,
  limit: number,
  between: (last: string) => Promise<void> = async () => {},
): Promise<string[]> {
  const read: string[] = [];
  for (;;) {
    const last = read.at(-1);
    const page = await rows.find(where, last === undefined ? { limit } : { limit, after: last });
    assert.ok(page.length <= limit);
    read.push(...page.map(({ id }) => id));
    if (page.length < limit) return read;
    await between(read.at(-1)!);
  }
}

async function openNumbered(store: DirectoryStore): Promise<Collection<Member>> {
  const rows = await openMembers(store);
  for (const id of ids.toReversed()) await rows.insert(member(id));
  await rows.insert(member('m000-of-another', { tid: 't2' }));
  return rows;
}

export const pagingCases: readonly ConformanceCase<DirectoryStore>[] = [
  {
    name: 'paging: rows come in the order of their ids, whatever the order of the writes',
    async run(store) {
      const rows = await openNumbered(store);
      await rows.update(ids[3]!, (row) => ({ ...row, count: 1 }));
      assert.deepEqual(
        (await rows.find({ byTenant: ['t1'] })).map(({ id }) => id),
        ids,
      );
    },
  },
  {
    name: 'paging: pages of any size cover all rows once',
    async run(store) {
      const rows = await openNumbered(store);
      for (const limit of [1, 7, 25, 26, 1000]) {
        assert.deepEqual(await readPages(rows, { byTenant: ['t1'] }, limit), ids);
        assert.equal((await readPages(rows, {}, limit)).length, 26);
      }
    },
  },
  {
    name: 'paging: after an id that is not there, or the last',
    async run(store) {
      const rows = await openNumbered(store);
      const after = async (id: string) => (await rows.find({ byTenant: ['t1'] }, { limit: 2, after: id })).map((row) => row.id);
      assert.deepEqual(await after(numbered(3)), [numbered(4), numbered(6)]);
      assert.deepEqual(await after('a'), [numbered(0), numbered(2)]);
      assert.deepEqual(await after(numbered(48)), []);
      assert.deepEqual(await after('z'), []);
    },
  },
  {
    name: 'paging: rows that are inserted or updated meanwhile neither hide nor repeat others',
    async run(store) {
      const rows = await openNumbered(store);
      const read = await readPages(rows, { byTenant: ['t1'] }, 4, async (last) => {
        await rows.insert(member(`before-${last}`));
        await rows.insert(member(`${last}-after`));
        await rows.update(ids[0]!, (row) => ({ ...row, count: (row.count ?? 0) + 1 }));
      });
      assert.equal(new Set(read).size, read.length);
      assert.deepEqual(
        read.filter((id) => !id.endsWith('-after')),
        ids,
      );
    },
  },
  {
    name: 'paging: rows that are removed meanwhile hide no others',
    async run(store) {
      const rows = await openNumbered(store);
      const read = await readPages(rows, { byTenant: ['t1'] }, 4, async (last) => {
        await rows.remove(ids[0]!);
        await rows.remove(last);
      });
      assert.deepEqual(read, ids);
    },
  },
  {
    name: 'paging: a limit that is not a positive whole number is refused',
    async run(store) {
      const rows = await openNumbered(store);
      for (const limit of [0, -1, 1.5, Number.NaN]) await assert.rejects(rows.find({}, { limit }));
    },
  },
];
