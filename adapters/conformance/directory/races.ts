import assert from 'node:assert/strict';
import type { DirectoryStore, Row } from '../../../lib/store/directory-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { atOnce } from '../passing-time.js';
import { assertFinds, member, openMembers, userOf } from './member.js';

/** Returns the rows of successful writes. Every other write must have ended in a conflict. */
async function winners(writes: Promise<PromiseSettledResult<Row>[]>): Promise<Row[]> {
  return (await writes).flatMap((result) => {
    if (result.status === 'fulfilled') return [result.value];
    assert.equal((result.reason as { code?: unknown }).code, 'conflict');
    return [];
  });
}

const settle = <T>(times: number, call: (index: number) => Promise<T>): Promise<PromiseSettledResult<T>[]> =>
  Promise.allSettled(Array.from({ length: times }, (_, index) => call(index)));

export const raceCases: readonly ConformanceCase<DirectoryStore>[] = [
  {
    name: 'races: 25 updates of one row at once are all applied',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(member('a', { count: 0, attributes: {} }));
      await atOnce(25, (index) =>
        rows.update('a', (row) => ({
          ...row,
          count: (row.count ?? 0) + 1,
          attributes: { ...row.attributes, [`n${index}`]: true },
        })),
      );
      const row = await rows.get('a');
      assert.equal(row?.count, 25);
      assert.equal(row?.version, 26);
      assert.equal(Object.keys(row?.attributes ?? {}).length, 25);
    },
  },
  {
    name: 'races: of 25 updates that may be done once, one is',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(member('a'));
      const taken = new Error('taken');
      const results = await settle(25, (index) =>
        rows.update('a', (row) => {
          if (row.externalId !== undefined) throw taken;
          return { ...row, externalId: `by ${index}` };
        }),
      );
      const done = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value?.externalId] : []));
      assert.deepEqual(done, [(await rows.get('a'))?.externalId]);
    },
  },
  {
    name: 'races: of 25 inserts of one id at once, one is done',
    async run(store) {
      const rows = await openMembers(store);
      const done = await winners(settle(25, (index) => rows.insert(member('a', { count: index }))));
      assert.equal(done.length, 1);
      assert.deepEqual(await rows.get('a'), done[0]);
    },
  },
  {
    name: 'races: of 25 inserts of one unique value at once, one is done',
    async run(store) {
      const rows = await openMembers(store);
      const done = await winners(settle(25, (index) => rows.insert(member(`m${index}`, userOf(`m${index}`, { nameKey: 'alice' })))));
      assert.equal(done.length, 1);
      await assertFinds(rows, {}, done[0]!.id);
    },
  },
  {
    name: 'races: of 25 rows that are updated to one unique value at once, one is',
    async run(store) {
      const rows = await openMembers(store);
      for (let index = 0; index < 25; index++) await rows.insert(member(`m${index}`, userOf(`m${index}`)));
      const done = await winners(
        settle(25, async (index) => {
          const row = await rows.update(`m${index}`, (current) => ({
            ...current,
            ...userOf(`m${index}`, { nameKey: 'alice' }),
          }));
          return row!;
        }),
      );
      assert.equal(done.length, 1);
      await assertFinds(rows, { byUserName: ['t1', 'alice'] }, done[0]!.id);
    },
  },
  {
    name: 'races: 25 puts of one row at once are each counted in the version',
    async run(store) {
      const rows = await openMembers(store);
      await atOnce(25, (index) => rows.put(member('a', { count: index })));
      assert.equal((await rows.get('a'))?.version, 25);
      await assertFinds(rows, {}, 'a');
    },
  },
  {
    name: 'races: updates do not bring back a row that is removed among them',
    async run(store) {
      const rows = await openMembers(store);
      await rows.insert(member('a', { count: 0 }));
      await atOnce(25, async (index) => {
        if (index === 12) await rows.remove('a');
        else await rows.update('a', (row) => ({ ...row, count: (row.count ?? 0) + 1 }));
      });
      assert.equal(await rows.get('a'), undefined);
      await assertFinds(rows, { byTenant: ['t1'] });
    },
  },
];
