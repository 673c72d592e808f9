import assert from 'node:assert/strict';
import type { ArtifactStore } from '../../../lib/store/artifact-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { LONG, pass, SHORT } from '../passing-time.js';
import { assertAbsent, assertCommits, assertLoses, keyOf, put, readOne } from './artifact.js';

const key = keyOf('a');
const other = keyOf('b');

/** Puts a record. The record has expired when this function resolves. */
async function putExpired(store: ArtifactStore, fields: Parameters<typeof put>[1] = {}): Promise<void> {
  const expiresAt = Date.now() + SHORT;
  await assertCommits(store, put(key, { ...fields, expiresAt }));
  await pass(expiresAt);
}

export const expiryCases: readonly ConformanceCase<ArtifactStore>[] = [
  {
    name: 'expiry: an expired record reads as absent, swept or not (J3)',
    async run(store) {
      await assertCommits(store, put(other));
      await putExpired(store);
      await assertAbsent(store, key);
      assert.notEqual(await readOne(store, other), undefined);
    },
  },
  {
    name: 'expiry: a record that is put after its expiry reads as absent',
    async run(store) {
      await assertCommits(store, put(key));
      await assertCommits(store, put(key, { expiresAt: Date.now() - 1 }));
      await assertAbsent(store, key);
    },
  },
  {
    name: 'expiry: an expired record is not read along (J3)',
    async run(store) {
      await assertCommits(store, put(other, { links: { grant: key } }));
      await putExpired(store);
      assert.deepEqual([...(await store.read([{ key: other, follow: ['grant'] }])).keys()], [other]);
    },
  },
  {
    name: 'expiry: an expired record satisfies absent and begins anew',
    async run(store) {
      await assertCommits(store, put(key));
      await putExpired(store, { consumedAt: Date.now(), account: 'account-1' });
      const expiresAt = Date.now() + LONG;
      await assertCommits(store, put(key, { if: 'absent', value: 'anew', expiresAt }));
      assert.deepEqual(await readOne(store, key), { key, value: 'anew', version: 1, expiresAt });
      assert.deepEqual(await store.listByAccount('account-1'), []);
    },
  },
  {
    name: 'expiry: an expired record can neither be consumed nor swapped',
    async run(store) {
      await putExpired(store);
      await assertLoses(store, key, put(key, { if: 'unconsumed', consumedAt: Date.now() }));
      await assertLoses(store, key, put(key, { if: { version: 1 } }));
      await assertAbsent(store, key);
    },
  },
  {
    name: 'expiry: a put moves the expiry, later or earlier',
    async run(store) {
      const soon = Date.now() + SHORT;
      await assertCommits(store, put(key, { expiresAt: soon }), put(other));
      await assertCommits(store, put(key), put(other, { expiresAt: soon }));
      await pass(soon);
      assert.notEqual(await readOne(store, key), undefined);
      await assertAbsent(store, other);
    },
  },
  {
    name: 'expiry: a consumed record outlives its first expiry when the consume extends it (B2)',
    async run(store) {
      for (let lifetime = 4 * SHORT; ; lifetime *= 4) {
        const [brief, soon] = [keyOf(`for ${lifetime} ms`), Date.now() + lifetime];
        await assertCommits(store, put(brief, { expiresAt: soon }));
        const consumedAt = Date.now();
        const expiresAt = consumedAt + LONG;
        const { ok } = await store.commit([put(brief, { if: 'unconsumed', consumedAt, expiresAt })]);
        // The record had expired, because the store or the machine was slow.
        if (!ok && Date.now() >= soon) continue;
        assert.equal(ok, true);
        await pass(soon);
        assert.deepEqual(await readOne(store, brief), { key: brief, value: 'value', version: 2, expiresAt, consumedAt });
        await assertLoses(store, brief, put(brief, { if: 'unconsumed', consumedAt: Date.now() }));
        return;
      }
    },
  },
  {
    name: 'expiry: a consumed record is readable until it expires, and then is not',
    async run(store) {
      await assertCommits(store, put(key));
      await putExpired(store, { if: 'unconsumed', consumedAt: Date.now() });
      await assertAbsent(store, key);
    },
  },
];
