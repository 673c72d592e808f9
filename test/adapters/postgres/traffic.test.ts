/** Issue 44: statements that the artifact store sends to PostgreSQL. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Pool } from 'pg';
import { postgresArtifacts } from 'tenant-idp/adapters/postgres';
import { createDatabase } from '../../../adapters/postgres/database.js';
import type { PostgresPool } from '../../../adapters/postgres/pool.js';
import { Sweep } from '../../../adapters/postgres/sweep.js';
import { hashedKey } from '../../../lib/store/artifact-key.js';
import type { ArtifactStore, ArtifactWrite } from '../../../lib/store/artifact-store.js';
import { withPostgres } from '../../support/stores/postgres.js';
import { until } from '../../support/time/until.js';

/** Number of rows that is high enough for a plan to matter. */
const ROWS = 20_000;
const keyOf = (name: string | number) => hashedKey('Traffic', `${name}`);
const later = () => Date.now() + 600_000;
const put = (name: string | number, more: Partial<ArtifactWrite & { op: 'put' }> = {}): ArtifactWrite => ({
  op: 'put',
  key: keyOf(name),
  value: 'value',
  expiresAt: later(),
  ...more,
});

/** Each call of the contract. */
const calls: readonly (readonly [string, (store: ArtifactStore) => Promise<unknown>])[] = [
  ['read', (store) => store.read([{ key: keyOf(1) }])],
  ['read of many', (store) => store.read(Array.from({ length: 50 }, (_, index) => ({ key: keyOf(index) })))],
  ['read that follows', (store) => store.read([{ key: keyOf(1), follow: ['grant', 'session'] }, { key: keyOf(2) }])],
  ['listByAccount', (store) => store.listByAccount('account 7')],
  ['commit of one', (store) => store.commit([put(1)])],
  ['commit that loses', (store) => store.commit([put(1, { if: 'absent' })])],
  [
    'commit of many',
    (store) =>
      store.commit([...Array.from({ length: 20 }, (_, index) => put(index)), put('new'), { op: 'remove', key: keyOf(30), until: later() }]),
  ],
  ['hit', (store) => store.hit(keyOf('counter'), 60_000)],
  ['hit by 0', (store) => store.hit(keyOf('counter'), 60_000, 0)],
  ['hit by -1', (store) => store.hit(keyOf('counter'), 60_000, -1)],
  ['lease', (store) => store.lease('lease', 'me', 60_000)],
  ['lease given back', (store) => store.lease('lease', 'me', 0)],
  ['time', (store) => store.time!()],
  ['health', (store) => store.health()],
];

type Sent = readonly [text: string, values: unknown[]];

/** Returns a pool that records statements, and accepts only a text and its values. */
const watched = (pool: Pool, sent: Sent[]): PostgresPool => ({
  async connect() {
    const client = await pool.connect();
    return {
      query(text, values, ...more: unknown[]) {
        expect([typeof text, Array.isArray(values), more]).toEqual(['string', true, []]);
        sent.push([text, values]);
        return client.query<object>(text, values);
      },
      release: (destroy) => client.release(destroy),
    };
  },
});

withPostgres('POSTGRES_URL', (postgres) => {
  const prefix = postgres.prefix();
  const sent: Sent[] = [];
  const spy = watched(postgres.pool, sent);
  const store = postgresArtifacts({ pool: spy, prefix });

  beforeAll(async () => {
    await store.open();
    await store.close();
    const filled = `insert into ${prefix}artifacts (key, value, version, expires_at, account, link_names, link_keys, is_removed)
      select 'Filler{' || n || '}', 'value', 1, ${later()}, 'account ' || n % 5000, '{grant}', array['Filler{' || n + 1 || '}'], false
      from generate_series(1, ${ROWS}) as n`;
    await postgres.pool.query(filled);
    await postgres.pool.query(
      `insert into ${prefix}counters select 'Filler{' || n || '}', 1, ${later()} from generate_series(1, ${ROWS}) as n`,
    );
    await store.commit([put(1, { links: { grant: keyOf(2) } }), put(2)]);
  });

  describe('every call', () => {
    test.each(calls)('%s is one statement without a state of the session, and its values are texts', async (_, call) => {
      sent.length = 0;
      await call(store);
      expect(sent).toHaveLength(1);
      const [[text, values]] = sent as [Sent];
      expect(text).toMatch(/^(with|select) /);
      expect(text).not.toMatch(/;|\b(prepare|listen|notify|temp|pg_advisory_lock)\b/i);
      const texts = values.flat().filter((value) => value !== null);
      expect(texts.every((value) => typeof value === 'string')).toBe(true);
    });

    test('an empty read or commit asks nothing, and neither does a commit that is malformed', async () => {
      sent.length = 0;
      await store.read([]);
      await store.commit([]);
      await expect(store.commit([put(1), put(1)])).rejects.toThrow(TypeError);
      expect(sent).toEqual([]);
    });
  });

  describe('plans', () => {
    const planOf = async (text: string, values: unknown[]): Promise<string> => {
      const { rows } = await postgres.pool.query<Record<string, string>>(`explain ${text}`, values);
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    };
    const expectIndexes = async (): Promise<void> => {
      expect(sent.length).toBeGreaterThan(0);
      for (const [text, values] of sent)
        expect(await planOf(text, values)).not.toMatch(new RegExp(`Seq Scan on ${prefix}(artifacts|counters)`));
    };

    test.each(['before', 'after'])('no call reads a whole table, %s statistics are there', async (when) => {
      if (when === 'after') await postgres.pool.query(`analyze ${prefix}artifacts, ${prefix}counters, ${prefix}leases`);
      sent.length = 0;
      for (const [, call] of calls) await call(store);
      await expectIndexes();
    });

    test('the sweep reads what expired by an index', async () => {
      sent.length = 0;
      const sweep = new Sweep(createDatabase({ pool: spy, prefix }), 20);
      sweep.start();
      await until(() => sent.length >= 3);
      sweep.stop();
      await expectIndexes();
    });
  });

  test('a pool of one connection serves parallel calls of every kind', async () => {
    const one = postgresArtifacts({ pool: postgres.connect({ max: 1 }), prefix });
    await Promise.all(calls.flatMap(([, call]) => [call(one), call(one), call(one)]));
  });

  test('values that drivers read as other types, as a host may have arranged, change no answer', async () => {
    const odd: PostgresPool = {
      async connect() {
        const client = await postgres.pool.connect();
        const types = { getTypeParser: (oid: number) => (text: string) => (oid === 25 ? text : { oid, text }) };
        return {
          query: (text, values) => client.query<object>({ text, values, types: types as never }),
          release: (destroy) => client.release(destroy),
        };
      },
    };
    const other = postgresArtifacts({ pool: odd, prefix });
    const written = put('odd', { account: 'odd account', consumedAt: 5, links: { grant: keyOf(2) } });
    expect(await other.commit([written])).toEqual({ ok: true });
    expect(await other.read([{ key: written.key, follow: ['grant'] }])).toEqual(
      await store.read([{ key: written.key, follow: ['grant'] }]),
    );
    expect(await other.listByAccount('odd account')).toMatchObject([{ version: 1, consumedAt: 5 }]);
    expect(await other.hit(keyOf('odd'), 60_000)).toMatchObject({ count: 1 });
    expect(await other.lease('odd', 'me', 60_000)).toBe(true);
    expect(Math.abs((await other.time!()) - Date.now())).toBeLessThan(60_000);
  });

  test('texts that are longer than an entry of an index, or that PostgreSQL refuses, come back as they were', async () => {
    const [long, odd] = ['å'.repeat(5000), 'a\u0000b\ud800\u0001'];
    const accounts = [long, `${long}.`, odd, `\u0001"${odd}`];
    const links = { [odd]: keyOf(1), [long]: keyOf(2), '"\\{},null': keyOf(1), ['__proto__']: keyOf(2) };
    for (const [index, account] of accounts.entries())
      expect(await store.commit([put(`text ${index}`, { account, value: odd, links })])).toEqual({ ok: true });
    for (const [index, account] of accounts.entries()) {
      const [found, ...more] = await store.listByAccount(account);
      expect(more).toEqual([]);
      expect(found).toMatchObject({ key: keyOf(`text ${index}`), account, value: odd });
      expect(found?.links).toEqual(links);
      for (const name of Object.keys(links)) expect((await store.read([{ key: found!.key, follow: [name] }])).size).toBe(2);
    }
    for (const name of accounts) expect(await store.lease(name, odd, 60_000)).toBe(true);
    for (const name of accounts) expect([await store.lease(name, long, 60_000), await store.lease(name, odd, 0)]).toEqual([false, true]);
  });
});
