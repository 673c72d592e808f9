import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { redisArtifacts } from 'tenant-idp/adapters/redis';
import { pass } from '../../../adapters/conformance/passing-time.js';
import { hashedKey } from '../../../lib/store/artifact-key.js';
import type { ArtifactKey, ArtifactStore, Put } from '../../../lib/store/artifact-store.js';
import { withServer } from '../../servers/when.js';
import { connected, ownPrefix, redisClient } from '../../support/stores/redis-clients.js';
import { holdsUntil } from '../../support/time/holds-until.js';

const key = hashedKey('Case', 'a', 'slot');
const other = hashedKey('Case', 'b', 'slot');
const SHORT = 500;
const LONG = 60_000;
const put = (name: ArtifactKey, more: Partial<Put> = {}): Put => ({
  op: 'put',
  key: name,
  value: 'v',
  expiresAt: Date.now() + LONG,
  ...more,
});

describe('keys in Redis', () => {
  withServer('REDIS_URL', (url) => {
    const client = redisClient(url);
    let prefix: string;
    let store: ArtifactStore;
    beforeAll(() => connected(client));
    beforeEach(async () => {
      prefix = ownPrefix();
      store = redisArtifacts({ client, prefix });
      await store.open();
    });
    afterAll(() => client.disconnect());

    const keys = async () => (await client.keys(`${prefix}*`)).map((name) => name.slice(prefix.length)).sort();
    const indexKey = async () => `${prefix}${(await keys()).find((name) => name.startsWith('account:'))}`;

    test('each is of a known form, whatever the names it was made of, and expires (J4)', async () => {
      const names = ['{x}', 'a\r\nb', '*', 'é\u0000', ''];
      for (const name of names) {
        await store.commit([put(hashedKey('Case', name), { account: `account ${name}`, links: {} })]);
        await store.lease(`lease ${name}`, name, LONG);
        await store.hit(hashedKey('Attempts', name), LONG);
      }
      await store.commit([{ op: 'remove', key, until: Date.now() + LONG }]);
      const found = await keys();
      expect(found).toHaveLength(names.length * 4 + 1);
      for (const name of found) {
        expect(name).toMatch(/^((count:)?(Case|Attempts)\{[\w-]+\}[\w-]{24}|(account|lease):[\w-]{24})$/);
        expect(await client.pttl(prefix + name)).toBeGreaterThan(0);
      }
    });

    test('a record goes when it expires, and a tombstone when it ends', async () => {
      const soon = Date.now() + SHORT;
      await store.commit([put(key), put(other, { expiresAt: soon })]);
      await store.commit([{ op: 'remove', key, until: soon }]);
      await holdsUntil(soon, async () => expect(await keys()).toEqual([key, other].sort()));
      await pass(soon);
      expect(await keys()).toEqual([]);
    });

    test('an index does not grow with puts of one record', async () => {
      for (let index = 0; index < 1000; index++)
        await store.commit([put(key, { account: 'account-1', expiresAt: Date.now() + LONG + index })]);
      expect(await client.zcard(await indexKey())).toBe(1);
    });

    test('an index drops what has expired whenever something is added', async () => {
      const soon = Date.now() + SHORT;
      const expiring = Array.from({ length: 20 }, (_, index) =>
        put(hashedKey('Case', `${index}`, 'slot'), { account: 'account-1', expiresAt: soon }),
      );
      await store.commit([...expiring, put(key, { account: 'account-1' })]);
      await holdsUntil(soon, async () => expect(await client.zcard(await indexKey())).toBe(21));
      await pass(soon);
      await store.commit([put(other, { account: 'account-1' })]);
      expect(await client.zcard(await indexKey())).toBe(2);
    });

    test('an index goes with its last member, be it the one that came first', async () => {
      const [sooner, later] = [Date.now() + SHORT, Date.now() + 4 * SHORT];
      await store.commit([put(key, { account: 'account-1', expiresAt: later })]);
      await store.commit([put(other, { account: 'account-1', expiresAt: sooner })]);
      await holdsUntil(later, async () => expect(await client.pexpiretime(await indexKey())).toBe(later));
      await pass(later);
      expect(await keys()).toEqual([]);
    });

    test('an index never lists a record for less long than it lives', async () => {
      const soon = Date.now() + SHORT;
      await store.commit([put(key, { account: 'account-1' })]);
      await store.commit([put(key, { account: 'account-1', expiresAt: soon }), put(other)]);
      await store.commit([put(key, { account: 'account-1' })]);
      await pass(soon);
      await store.commit([put(other, { account: 'account-1' })]);
      expect(await store.listByAccount('account-1')).toHaveLength(2);
    });

    test('an index drops removed records when it is listed', async () => {
      await store.commit([put(key, { account: 'account-1' }), put(other, { account: 'account-1' })]);
      await store.commit([{ op: 'remove', key, until: Date.now() + LONG }]);
      expect((await store.listByAccount('account-1')).map((artifact) => artifact.key)).toEqual([other]);
      expect(await client.zrange(await indexKey(), '0', '-1')).toEqual([prefix + other]);
    });

    test('expiry is compared, also while the key is still there (J3)', async () => {
      let soon: number;
      // Doubles the lifetime until both keys are persisted before they expire.
      for (let lifetime = SHORT, kept = 0; kept < 2; lifetime *= 2) {
        soon = Date.now() + lifetime;
        await store.commit([put(key, { account: 'account-1', expiresAt: soon }), put(other, { links: { case: key } })]);
        kept = (await client.persist(prefix + key)) + (await client.persist(await indexKey()));
      }
      await pass(soon!);
      expect(await client.exists(prefix + key)).toBe(1);
      expect((await store.read([{ key }])).size).toBe(0);
      expect((await store.read([{ key }, { key: other, follow: ['case'] }])).size).toBe(1);
      expect(await store.listByAccount('account-1')).toEqual([]);
      expect(await store.commit([put(key, { if: 'unconsumed' })])).toEqual({ ok: false, lost: key });
      expect(await store.commit([put(key, { if: { version: 1 } })])).toEqual({ ok: false, lost: key });
      expect(await store.commit([put(key, { if: 'absent' })])).toEqual({ ok: true });
      expect((await store.read([{ key }])).get(key)?.version).toBe(1);
    });

    test('accounts and links of any name come back as they were', async () => {
      const account = 'a,b=c%2c\nd{e}';
      const links = { 'grant:a,b': other, 'x=y%\n': other, ['__proto__']: other, grant: other };
      await store.commit([put(key, { account, links, value: '\n,=' }), put(other)]);
      const { [key]: record } = Object.fromEntries(await store.read([{ key }]));
      expect(record).toMatchObject({ account, value: '\n,=' });
      expect(Object.entries(record?.links ?? {})).toEqual(Object.entries(links));
      for (const name of Object.keys(links)) expect((await store.read([{ key, follow: [name] }])).size).toBe(2);
      expect(await store.listByAccount(account)).toHaveLength(1);
    });

    test('a link that leaves the slot is refused', async () => {
      await expect(store.commit([put(key, { links: { grant: hashedKey('Case', 'b', 'elsewhere') } })])).rejects.toThrow('leaves the slot');
      expect(await keys()).toEqual([]);
    });
  });
});
