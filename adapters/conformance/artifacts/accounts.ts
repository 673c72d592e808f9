import assert from 'node:assert/strict';
import type { ArtifactStore } from '../../../lib/store/artifact-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { pass, SHORT } from '../passing-time.js';
import { assertCommits, keyOf, put, readOne, remove } from './artifact.js';

const [first, second, third] = [keyOf('a'), keyOf('b', 'slot-2'), keyOf('c', 'slot-3')];

async function assertListed(store: ArtifactStore, account: string, ...keys: readonly string[]): Promise<void> {
  const listed = await store.listByAccount(account);
  assert.equal(listed.length, keys.length);
  assert.deepEqual(new Set(listed.map(({ key }) => key)), new Set(keys));
}

export const accountCases: readonly ConformanceCase<ArtifactStore>[] = [
  {
    name: "accounts: an account's records are listed whole, and no others",
    async run(store) {
      await assertCommits(store, put(first, { account: 'account-1', value: 'one' }));
      await assertCommits(store, put(second, { account: 'account-1' }));
      await assertCommits(store, put(third, { account: 'account-2' }));
      await assertCommits(store, put(keyOf('of nobody')));
      await assertListed(store, 'account-1', first, second);
      await assertListed(store, 'account-2', third);
      const [listed] = (await store.listByAccount('account-1')).filter(({ key }) => key === first);
      assert.deepEqual(listed, await readOne(store, first));
    },
  },
  {
    name: 'accounts: a replaced record is listed once, as it is now',
    async run(store) {
      await assertCommits(store, put(first, { account: 'account-1' }));
      await assertCommits(store, put(first, { account: 'account-1', value: 'second' }));
      await assertListed(store, 'account-1', first);
      assert.equal((await store.listByAccount('account-1'))[0]?.value, 'second');
    },
  },
  {
    name: 'accounts: the list follows a change of account',
    async run(store) {
      await assertCommits(store, put(first, { account: 'account-1' }), put(keyOf('x'), { account: 'account-1' }));
      await assertCommits(store, put(first, { account: 'account-2' }), put(keyOf('x')));
      await assertListed(store, 'account-1');
      await assertListed(store, 'account-2', first);
      await assertCommits(store, put(first, { account: 'account-1' }));
      await assertListed(store, 'account-1', first);
      await assertListed(store, 'account-2');
    },
  },
  {
    name: 'accounts: neither removed nor expired records are listed',
    async run(store) {
      const soon = Date.now() + SHORT;
      await assertCommits(store, put(first, { account: 'account-1' }));
      await assertCommits(store, put(second, { account: 'account-1', expiresAt: soon }));
      await assertCommits(store, put(third, { account: 'account-1' }));
      await assertCommits(store, remove(first));
      await pass(soon);
      await assertListed(store, 'account-1', third);
    },
  },
  {
    name: 'accounts: a hundred records of one account are all listed',
    async run(store) {
      const keys = Array.from({ length: 100 }, (_, index) => keyOf(`record ${index}`));
      await assertCommits(store, ...keys.map((key) => put(key, { account: 'account-1' })));
      await assertListed(store, 'account-1', ...keys);
    },
  },
];
