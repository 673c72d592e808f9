import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ArtifactStore } from '../../../lib/store/artifact-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { LONG } from '../passing-time.js';
import { assertAbsent, assertCommits, keyOf, put, readOne, remove } from './artifact.js';

const key = keyOf('a');
const other = keyOf('b');

export const contractCases: readonly ConformanceCase<ArtifactStore>[] = [
  {
    name: 'contract: a store says what it is and that it is well',
    async run(store) {
      assert.match(store.name, /^\S/);
      assert.equal(typeof store.ephemeral, 'boolean');
      await store.health();
    },
  },
  {
    name: 'contract: a store with a clock of its own tells its time in milliseconds, and it passes as it does here',
    async run(store) {
      if (!store.time) return;
      const [began, first] = [performance.now(), await store.time()];
      assert.ok(Number.isInteger(first) && first > 1_600_000_000_000, `${first}`);
      await sleep(100);
      const [second, took] = [await store.time(), performance.now() - began];
      assert.ok(second - first >= 90 && second - first <= took + 10, `${second - first} ms in ${took} ms`);
    },
  },
  {
    name: 'contract: an empty store, read and commit answer emptily',
    async run(store) {
      await assertAbsent(store, key);
      assert.equal((await store.read([])).size, 0);
      assert.deepEqual(await store.commit([]), { ok: true });
      assert.deepEqual(await store.listByAccount('nobody'), []);
    },
  },
  {
    name: 'contract: a record comes back with each of its fields',
    async run(store) {
      const fields = {
        value: '{"kind":"Session"}',
        expiresAt: Date.now() + LONG,
        consumedAt: Date.now(),
        account: 'account-1',
        links: { grant: other },
      };
      await assertCommits(store, put(key, fields));
      assert.deepEqual(await readOne(store, key), { key, version: 1, ...fields });
    },
  },
  {
    name: 'contract: a record has no fields that it was not given',
    async run(store) {
      const expiresAt = Date.now() + LONG;
      await assertCommits(store, put(key, { expiresAt }));
      assert.deepEqual(await readOne(store, key), { key, value: 'value', version: 1, expiresAt });
    },
  },
  {
    name: 'contract: a put replaces the whole record and adds one to its version',
    async run(store) {
      const expiresAt = Date.now() + LONG;
      await assertCommits(store, put(key, { account: 'account-1', consumedAt: Date.now(), links: { grant: other } }));
      await assertCommits(store, put(key, { value: 'second', expiresAt }));
      assert.deepEqual(await readOne(store, key), { key, value: 'second', version: 2, expiresAt });
    },
  },
  {
    name: 'contract: one read answers all requested records that there are',
    async run(store) {
      await assertCommits(store, put(key), put(other));
      const artifacts = await store.read([{ key }, { key: keyOf('absent') }, { key: other }, { key }]);
      assert.deepEqual(new Set(artifacts.keys()), new Set([key, other]));
    },
  },
  {
    name: 'contract: 200 records are written or removed in one commit, as many as a session ends, and 500 read at once',
    async run(store) {
      const keys = Array.from({ length: 500 }, (_, index) => keyOf(`record ${index}`));
      const asked = [...keys, keyOf('absent')].map((each) => ({ key: each, follow: ['grant'] }));
      const parts = [keys.slice(0, 200), keys.slice(200, 400), keys.slice(400)];
      await assertCommits(store, put(other));
      for (const part of parts) await assertCommits(store, ...part.map((each) => put(each, { value: each, links: { grant: other } })));
      const artifacts = await store.read(asked);
      assert.equal(artifacts.size, 501);
      for (const each of keys) assert.equal(artifacts.get(each)?.value, each);
      for (const part of parts) await assertCommits(store, ...part.map((each) => remove(each)));
      assert.deepEqual([...(await store.read(asked)).keys()], []);
    },
  },
  {
    name: 'contract: a read follows the links it names, one level deep',
    async run(store) {
      const [grant, session, beyond] = [keyOf('grant'), keyOf('session'), keyOf('beyond')];
      await assertCommits(
        store,
        put(key, { links: { grant, session, gone: keyOf('gone') } }),
        put(grant, { links: { grant: beyond } }),
        put(session),
        put(beyond),
      );
      const follows = async (...follow: string[]) => new Set((await store.read([{ key, follow }])).keys());
      assert.deepEqual(await follows('grant'), new Set([key, grant]));
      assert.deepEqual(await follows('grant', 'session', 'gone', 'unheard'), new Set([key, grant, session]));
      assert.deepEqual(await follows(), new Set([key]));
    },
  },
  {
    name: 'contract: a linked record that was removed is not read along',
    async run(store) {
      await assertCommits(store, put(key, { links: { grant: other } }), put(other));
      await assertCommits(store, remove(other));
      assert.deepEqual([...(await store.read([{ key, follow: ['grant'] }])).keys()], [key]);
    },
  },
  {
    name: 'contract: a value comes back as it was, whatever its characters and up to 64 KiB',
    async run(store) {
      const texts = [
        '',
        ' \t\r\n ',
        '\u0000',
        '\u0001\u007f\u0085\u2028\u2029\ufeff\uffff',
        'æøå ÆØÅ ß İ ı é é',
        'עברית العربية हिन्दी 日本語 한국어',
        '👩🏽‍🚀🏴󠁧󠁢󠁳󠁣󠁴󠁿𝕏',
        `'"\\\`\${}{{}}%s%00$1;--`,
        'x'.repeat(64 * 1024),
        '€'.repeat(21 * 1024),
      ];
      await assertCommits(store, ...texts.map((value, index) => put(keyOf(`text ${index}`), { value })));
      for (const [index, text] of texts.entries()) {
        assert.equal((await readOne(store, keyOf(`text ${index}`)))?.value, text);
      }
    },
  },
  {
    name: 'contract: nothing that is done to what was given or read reaches the store',
    async run(store) {
      const links: Record<string, typeof key> = { grant: other };
      const given = { ...put(key, { value: 'kept' }), links };
      await assertCommits(store, given);
      given.value = 'changed';
      links.grant = key;
      const read = (await readOne(store, key)) as { value: string; links?: Record<string, typeof key> };
      const meddle = [() => (read.value = 'changed'), () => (read.links!.grant = key)];
      for (const change of meddle) {
        try {
          change();
        } catch {
          // A frozen record throws; a copy may be changed.
        }
      }
      const again = await readOne(store, key);
      assert.equal(again?.value, 'kept');
      assert.deepEqual(again?.links, { grant: other });
    },
  },
];
