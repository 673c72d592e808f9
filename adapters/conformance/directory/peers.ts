import assert from 'node:assert/strict';
import type { DirectoryStore } from '../../../lib/store/directory-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { atOnce } from '../passing-time.js';
import { assertFinds, conflict, member, openMembers, userOf } from './member.js';

/** Promises to several nodes of a service. An instance of a store must not rely on data in its own memory. */
export const peerCases: readonly ConformanceCase<DirectoryStore>[] = [
  {
    name: 'peers: what one instance wrote the other reads at once',
    async run(store, peer) {
      const [rows, others] = [await openMembers(store), await openMembers(peer)];
      await rows.insert(member('a', userOf('a', { nameKey: 'alice' })));
      assert.equal((await others.get('a'))?.version, 1);
      await others.update('a', (row) => ({ ...row, ...userOf('a', { nameKey: 'alicia' }) }));
      await assertFinds(rows, { byUserName: ['t1', 'alice'] });
      await assertFinds(rows, { byUserName: ['t1', 'alicia'] }, 'a');
      await assert.rejects(rows.insert(member('b', userOf('b', { nameKey: 'alicia' }))), conflict);
      assert.equal(await rows.remove('a'), true);
      assert.equal(await others.get('a'), undefined);
    },
  },
  {
    name: 'peers: updates of one row over two instances are all applied',
    async run(store, peer) {
      const both = [await openMembers(store), await openMembers(peer)];
      await both[0]?.insert(member('a', { count: 0 }));
      await atOnce(20, (index) => both[index % 2]!.update('a', (row) => ({ ...row, count: (row.count ?? 0) + 1 })));
      assert.equal((await both[1]?.get('a'))?.count, 20);
    },
  },
  {
    name: 'peers: of inserts of one unique value over two instances, one is done',
    async run(store, peer) {
      const both = [await openMembers(store), await openMembers(peer)];
      const done = await atOnce(20, (index) =>
        both[index % 2]!.insert(member(`m${index}`, userOf(`m${index}`, { nameKey: 'alice' }))).then(
          () => true,
          () => false,
        ),
      );
      assert.equal(done.filter(Boolean).length, 1);
      assert.equal((await both[0]?.find({ byUserName: ['t1', 'alice'] }))?.length, 1);
    },
  },
];
