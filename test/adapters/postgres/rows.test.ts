/** Issue 44: rows of the directory in PostgreSQL: long values, rows of other programs, plans of the server, and races of nodes. */
import { describe, expect, test } from '@jest/globals';
import type { Pool } from 'pg';
import { postgresDirectory } from 'tenant-idp/adapters/postgres';
import type { PostgresPool } from '../../../adapters/postgres/pool.js';
import type { Collection, CollectionSpec, Position, Range, Row, Unsaved } from '../../../lib/store/directory-store.js';
import { compareTexts } from '../../../lib/store/index-order.js';
import { withPostgres } from '../../support/stores/postgres.js';

interface Member extends Row {
  readonly tid: string;
  readonly name: string;
  readonly count?: number;
  readonly groupIds?: readonly string[];
}

const spec = {
  name: 'members',
  indexes: {
    byTenant: { fields: ['tid'] },
    byName: { fields: ['tid', 'name'], unique: true },
    byGroup: { fields: ['groupIds'] },
    inOrderOfName: { fields: ['tid', 'name'], order: 'text' },
    inUniqueOrder: { fields: ['name'], order: 'text', unique: true },
    inOrderOfGroupAndName: { fields: ['groupIds', 'name'], order: 'text' },
  },
} as const satisfies CollectionSpec;

/** Returns a text that does not compress, because PostgreSQL's limit is for the compressed entry. */
const random = (length: number): string =>
  Array.from({ length }, () => String.fromCodePoint(0x10001 + 2 * Math.floor(Math.random() * 0x10000))).join('');

withPostgres('POSTGRES_URL', (postgres) => {
  const query = async (text: string, values: unknown[] = []) => (await postgres.pool.query<Record<string, unknown>>(text, values)).rows;
  const opened = async (prefix: string, pool: PostgresPool = postgres.pool): Promise<Collection<Member>> => {
    const directory = postgresDirectory({ pool, prefix });
    await directory.open([spec]);
    return directory.collection<Member>('members');
  };
  const entriesOf = async (prefix: string, id: string) =>
    (
      await query(
        `select name, key from "${prefix}entries" e join "${prefix}indexes" i on i.id = abs(index_id) where e.id = $1 order by 1, 2`,
        [id],
      )
    ).map(({ name, key }) => `${name} ${String(key).replaceAll('\u0001', '|')}`);

  describe('long values in PostgreSQL', () => {
    test('are looked up, unique and removed, however long', async () => {
      const prefix = postgres.prefix();
      const members = await opened(prefix);
      const long = random(3000);
      const row = await members.insert({ id: 'a', tid: 't', name: long, groupIds: [`1${long}`, `2${long}`] });
      expect(await members.find({ byName: ['t', long] })).toEqual([row]);
      expect(await members.find({ inOrderOfName: ['t', long] })).toEqual([row]);
      expect(await members.find({ byGroup: [`2${long}`] })).toEqual([row]);
      expect(await members.find({ byGroup: [`3${long}`] })).toEqual([]);
      expect(await members.find({ byName: ['t', long.slice(0, -1)] })).toEqual([]);
      await expect(members.insert({ id: 'b', tid: 't', name: long })).rejects.toMatchObject({ code: 'conflict' });
      await expect(members.insert({ id: 'b', tid: 'u', name: long })).rejects.toMatchObject({ code: 'conflict' });
      await members.update('a', (current) => ({ ...current, name: `${long}!`, groupIds: [] }));
      await members.insert({ id: 'b', tid: 't', name: long });
      expect((await members.range({ index: 'inOrderOfName', within: ['t'], limit: 9 })).map(({ id }) => id)).toEqual(['b', 'a']);
      for (const id of ['a', 'b']) await members.remove(id);
      expect(await query(`select * from "${prefix}entries"`)).toEqual([]);
    });

    test('the longest entry that is stored whole fits, with the longest id', async () => {
      const members = await opened(postgres.prefix());
      const id = random(250);
      const name = random(397);
      const row = await members.insert({ id, tid: 'ti', name });
      expect(await members.find({ byName: ['ti', name] })).toEqual([row]);
      expect(await members.range({ index: 'inUniqueOrder', within: [], limit: 1 })).toEqual([row]);
      await expect(members.insert({ id: random(251), tid: 't', name: 'x' })).rejects.toThrow('more than 1000 bytes');
      expect(await members.get(random(1000))).toBeUndefined();
    });

    test('a key of the greatest stored length is no other than a longer key with this beginning', async () => {
      const members = await opened(postgres.prefix());
      const [exact, longer] = ['k'.repeat(400), `${'k'.repeat(400)}x`];
      await members.insert({ id: 'a', tid: '1', name: longer });
      expect(await members.find({ inUniqueOrder: [exact] })).toEqual([]);
      await members.update('a', (row) => ({ ...row, name: exact }));
      expect(await members.find({ inUniqueOrder: [exact] })).toMatchObject([{ id: 'a' }]);
      await expect(members.insert({ id: 'b', tid: '2', name: exact })).rejects.toMatchObject({ code: 'conflict' });
      await members.update('a', (row) => ({ ...row, name: longer }));
      await members.insert({ id: 'b', tid: '2', name: exact });
      expect(await members.find({ inUniqueOrder: [longer] })).toMatchObject([{ id: 'a' }]);
    });

    test('ranges are in the order of the whole values, in pages of any size, up and down', async () => {
      const members = await opened(postgres.prefix());
      const begin = random(398);
      // With the tenant and the separator, the first two keys have 399 and 400 characters, and the others share the first 400 of the next.
      const names = ['', 'a', 'ab', 'abc', 'aa', 'a\u0001', 'b', 'a\u{10ffff}x', `a${random(10)}`].map(
        (end, index) => begin.slice(0, index === 0 ? 794 : 796) + end,
      );
      names.push(
        '',
        'zz',
        begin.slice(0, 10),
        `${begin.slice(0, 792)}z`,
        `${begin.slice(0, 796)}zzz`,
        'a'.repeat(401),
        'a'.repeat(400),
        'a'.repeat(399),
      );
      const ids = names.map((_, index) => `m${(index * 5) % names.length}`);
      for (const [index, name] of names.entries()) await members.insert({ id: ids[index] as string, tid: 't', name });
      const sorted = names.toSorted(compareTexts);
      const read = async (range: Partial<Range>, limit: number) => {
        const found: Member[] = [];
        for (let after: Position | undefined; ; ) {
          const page = await members.range({ index: 'inOrderOfName', within: ['t'], limit, ...range, ...(after && { after }) });
          found.push(...page);
          const last = page.at(-1);
          if (last === undefined || page.length < limit) return found.map(({ name }) => name);
          after = { value: last.name, id: last.id };
        }
      };
      for (const limit of [1, 2, 3, 5, 100]) {
        expect(await read({}, limit)).toEqual(sorted);
        expect(await read({ descending: true }, limit)).toEqual(sorted.toReversed());
      }
      for (const bound of [...names, begin, `${begin}ab`, begin.slice(0, 794)]) {
        const from = sorted.filter((name) => compareTexts(name, bound) >= 0);
        const below = sorted.filter((name) => compareTexts(name, bound) < 0);
        const begun = sorted.filter((name) => name.startsWith(bound));
        expect(await read({ from: bound }, 4)).toEqual(from);
        expect(await read({ below: bound, descending: true }, 4)).toEqual(below.toReversed());
        expect(await read({ below: bound }, 4)).toEqual(below);
        expect(await read({ prefix: bound }, 3)).toEqual(begun);
      }
    });

    test('two keys of a row that share their stored beginning are refused before anything is written', async () => {
      const members = await opened(postgres.prefix());
      const long = 'g'.repeat(500);
      await expect(members.insert({ id: 'a', tid: 't', name: 'n', groupIds: [`${long}1`, `${long}2`] })).rejects.toThrow(TypeError);
      expect(await members.get('a')).toBeUndefined();
    });
  });

  describe('rows that another program wrote', () => {
    test.each([
      ['no JSON', '{'],
      ['a list', '[]'],
      ['null', 'null'],
      ['the row of another id', '{"id":"other","tid":"t","name":"a"}'],
      ['values of other types', '{"id":"a","tid":7,"name":{"$instant":"never"},"groupIds":[null]}'],
    ])('%s: it is read as unreadable, lists go on, and it can be replaced and removed with all its entries', async (_, content) => {
      const prefix = postgres.prefix();
      const members = await opened(prefix);
      for (const id of ['a', 'b']) await members.insert({ id, tid: 't', name: id, groupIds: ['g1', 'g2'] });
      const spoil = () => query(`update "${prefix}rows" set content = $1 where id = 'a'`, [content]);
      await spoil();
      expect((await members.find({ byTenant: ['t'] })).map(({ id }) => id)).toEqual(['a', 'b']);
      expect((await members.range({ index: 'inOrderOfName', within: ['t'], limit: 1 })).map(({ id }) => id)).toEqual(['a']);
      expect((await members.find({}, { limit: 1 })).map(({ id }) => id)).toEqual(['a']);
      expect((await members.get('a'))?.id).toBe('a');
      const next = { id: 'a', tid: 'u', name: 'next' };
      await members.put(next);
      expect(await entriesOf(prefix, 'a')).toEqual(['byName u|next', 'byTenant u', 'inOrderOfName u|next', 'inUniqueOrder next']);
      await spoil();
      expect(await members.remove('a')).toBe(true);
      expect(await entriesOf(prefix, 'a')).toEqual([]);
      await members.insert({ id: 'c', tid: 'u', name: 'next' });
    });

    test('an entry without a row ends no list early', async () => {
      const prefix = postgres.prefix();
      const members = await opened(prefix);
      for (const id of ['a', 'b', 'c', 'd']) await members.insert({ id, tid: 't', name: id });
      await query(`delete from "${prefix}rows" where id in ('a', 'c')`);
      expect((await members.find({ byTenant: ['t'] }, { limit: 2 })).map(({ id }) => id)).toEqual(['b', 'd']);
      expect((await members.range({ index: 'inOrderOfName', within: ['t'], limit: 2 })).map(({ id }) => id)).toEqual(['b', 'd']);
    });
  });

  test('a limit may be any whole number', async () => {
    const members = await opened(postgres.prefix());
    const row = await members.insert({ id: 'a', tid: 't', name: 'n' });
    const limit = Number.MAX_SAFE_INTEGER;
    for (const where of [{}, { byTenant: ['t'] }]) expect(await members.find(where, { limit })).toEqual([row]);
    expect(await members.range({ index: 'inOrderOfName', within: ['t'], limit })).toEqual([row]);
  });

  describe('plans of the server', () => {
    /** Returns a pool that records the sent statements. */
    const recording = (pool: Pool) => {
      const sent: { text: string; values: unknown[] }[] = [];
      const recorder: PostgresPool = {
        async connect() {
          const client = await pool.connect();
          return {
            query(text, values) {
              sent.push({ text, values });
              return client.query(text, values);
            },
            release: (destroy) => client.release(destroy),
          };
        },
      };
      return { recorder, sent };
    };

    test('every read is one index scan, in the order of the index, and a write finds each entry in the index', async () => {
      const prefix = postgres.prefix();
      const { recorder, sent } = recording(postgres.pool);
      const members = await opened(prefix, recorder);
      for (let start = 0; start < 3000; start += 60) {
        const batch = Array.from({ length: 60 }, (_, index) => start + index);
        await Promise.all(
          batch.map((number) => members.insert({ id: `m${number}`, tid: `t${number % 3}`, name: `n${number}`, groupIds: ['g'] })),
        );
      }
      await query(`vacuum analyze "${prefix}rows"`);
      await query(`vacuum analyze "${prefix}entries"`);
      sent.splice(0);
      const along = { index: 'inOrderOfName', within: ['t1'], limit: 50 };
      const position = { value: 'n2', id: 'm2' };
      const reads: readonly (readonly [string, () => Promise<unknown>])[] = [
        ['get', () => members.get('m1')],
        ['page of all', () => members.find({}, { limit: 50, after: 'm2' })],
        ['look-up of a unique value', () => members.find({ byName: ['t1', 'n1'] })],
        ['page of a look-up', () => members.find({ byTenant: ['t1'] }, { limit: 50, after: 'm2' })],
        ['element of an array', () => members.find({ byGroup: ['g'] }, { limit: 50 })],
        ['range', () => members.range(along)],
        ['range behind a position', () => members.range({ ...along, after: position })],
        ['range down', () => members.range({ ...along, descending: true, after: position })],
        ['range of a prefix', () => members.range({ ...along, prefix: 'n1' })],
      ];
      for (const [name, read] of reads) {
        await read();
        expect([name, sent.length]).toEqual([name, 1]);
        const [{ text, values } = { text: '', values: [] }] = sent.splice(0);
        const plan = JSON.stringify(await query(`explain (format json, analyze, buffers) ${text}`, values));
        expect([name, /Seq Scan|Bitmap|"Sort"|Hash/.exec(plan)?.[0]]).toEqual([name, undefined]);
        const removed = [...plan.matchAll(/"Rows Removed by (?:Filter|Index Recheck)":(\d+)/g)].map(([, count]) => Number(count));
        expect([name, Math.max(0, ...removed)]).toEqual([name, 0]);
        const [, buffers = ''] = /"Shared Hit Blocks":(\d+)/.exec(plan) ?? [];
        expect([name, Number(buffers) < 300]).toEqual([name, true]);
      }
      await members.update('m1', (row) => ({ ...row, tid: 'other' }));
      await members.remove('m4');
      for (const { text, values } of sent.filter((statement) => statement.text.includes('delete from'))) {
        const plan = JSON.stringify(await query(`explain (format json) ${text}`, values));
        expect(plan).not.toMatch(/Seq Scan|Hash/);
        const conditions = [...plan.matchAll(/"Alias":"e"[^{}]*"Index Cond":"([^"]*)"/g)].map(([, condition]) => condition);
        expect(conditions).toEqual([expect.stringMatching(/index_id = .*key = .*id = /)]);
      }
    });

    test('a write is one statement behind the read of the row, and touches only the entries that change', async () => {
      const prefix = postgres.prefix();
      const { recorder, sent } = recording(postgres.pool);
      const members = await opened(prefix, recorder);
      sent.splice(0);
      await members.insert({ id: 'a', tid: 't', name: 'a', groupIds: ['g1'] });
      expect(sent.splice(0)).toHaveLength(1);
      const places = () => query(`select index_id, key, ctid::text as place from "${prefix}entries" order by 1, 2`);
      const before = await places();
      await members.update('a', (row) => ({ ...row, count: 1 }));
      expect(sent.splice(0)).toHaveLength(2);
      expect(await places()).toEqual(before);
      await members.remove('a');
      expect(sent.splice(0)).toHaveLength(2);
    });
  });

  describe('races of nodes', () => {
    test('150 updates of one row over three nodes, and 150 inserts of one unique value', async () => {
      const prefix = postgres.prefix();
      const nodes = await Promise.all([1, 2, 3].map(() => opened(prefix, postgres.connect({ max: 10 }))));
      const at = (index: number) => nodes[index % 3] as Collection<Member>;
      await at(0).insert({ id: 'a', tid: 't', name: 'a', count: 0 });
      const add = (row: Member): Unsaved<Member> => ({ ...row, count: (row.count ?? 0) + 1 });
      const updates = await Promise.allSettled(Array.from({ length: 150 }, (_, index) => at(index).update('a', add)));
      const done = updates.filter(({ status }) => status === 'fulfilled').length;
      // The answer to an update that was made may come after the deadline.
      const row = await at(0).get('a');
      expect(row).toMatchObject({ version: (row?.count ?? 0) + 1 });
      expect(row?.count).toBeGreaterThanOrEqual(Math.max(done, 1));
      const inserts = await Promise.allSettled(
        Array.from({ length: 150 }, (_, index) => at(index).insert({ id: `i${index}`, tid: 't', name: 'one' })),
      );
      expect(inserts.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1);
      expect(await at(1).find({ byName: ['t', 'one'] })).toHaveLength(1);
    });
  });
});
