import assert from 'node:assert/strict';
import { artifactKey, hashedKey } from '../../../lib/store/artifact-key.js';
import type { ArtifactStore } from '../../../lib/store/artifact-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { LONG } from '../passing-time.js';
import { assertCommits, keyOf, put, remove } from './artifact.js';

/** Texts with a meaning in some store, protocol or language. */
const hostileNames = [
  'x'.repeat(20),
  '',
  ' ',
  '*',
  '?',
  '..',
  ':',
  'uid:x',
  '{conformance}',
  'Case{conformance}',
  'a\r\nFLUSHALL\r\n',
  'a\u0000b',
  '$ne',
  '{"$gt":""}',
  '__proto__',
  'constructor',
  "'; drop table artifacts; --",
  '✓ naïve 日本語 👩🏽‍🚀',
];

const oversizedName = 'x'.repeat(1024 * 1024);

export const hostileIdCases: readonly ConformanceCase<ArtifactStore>[] = [
  {
    name: 'hostile ids: an id that we cannot have made has no key, so nothing is read or written for it (J4)',
    async run() {
      const ids = [
        ...hostileNames.slice(1),
        oversizedName,
        'too-short',
        'x'.repeat(129),
        ...['\r\n', '\u0000', '{', '}', '*', ':', ' ', '$', '.', 'é'].map((text) => `${'x'.repeat(20)}${text}`),
        `${'x'.repeat(20)}\n`,
      ];
      for (const id of ids) assert.equal(artifactKey('Case', id), undefined, JSON.stringify(id.slice(0, 40)));
    },
  },
  {
    name: 'hostile ids: records named by any text are apart from one another (J4)',
    async run(store) {
      const keys = [...hostileNames, oversizedName].map((name) => hashedKey('Case', name));
      assert.equal(new Set(keys).size, keys.length);
      for (const [index, key] of keys.entries()) {
        assert.match(key, /^Case\{[\w-]{11}\}[\w-]{24}$/);
        await assertCommits(store, put(key, { if: 'absent', value: String(index) }));
      }
      const artifacts = await store.read(keys.map((key) => ({ key })));
      assert.deepEqual(
        keys.map((key) => artifacts.get(key)?.value),
        keys.map((_, index) => String(index)),
      );
      await assertCommits(store, remove(keys[0]!));
      assert.equal((await store.read(keys.map((key) => ({ key })))).size, keys.length - 1);
    },
  },
  {
    name: 'hostile ids: an account or a link is a name, never a pattern or a property (J4)',
    async run(store) {
      const key = keyOf('a');
      await assertCommits(store, put(key, { account: 'account-1', links: { grant: keyOf('b') } }));
      for (const name of hostileNames) {
        assert.deepEqual(await store.listByAccount(name), []);
        assert.equal((await store.read([{ key, follow: [name] }])).size, 1);
      }
      for (const [index, account] of hostileNames.entries()) {
        if (account !== '') await assertCommits(store, put(keyOf(`of account ${index}`), { account }));
      }
      for (const account of hostileNames) {
        assert.equal((await store.listByAccount(account)).length, account === '' ? 0 : 1);
      }
    },
  },
  {
    name: 'hostile ids: leases of any name and holder are apart from one another (J4)',
    async run(store) {
      for (const name of hostileNames) assert.equal(await store.lease(name, 'node-1', LONG), true);
      for (const holder of hostileNames) assert.equal(await store.lease('keys', holder, 0), false);
      assert.equal(await store.lease('keys:node', '1', LONG), true);
      assert.equal(await store.lease('keys', 'node:1', LONG), true);
      assert.equal(await store.lease('*', 'node-2', LONG), false);
    },
  },
];
