/** Issue 44: start of the stores in PostgreSQL: checks, tables, and indexes while other nodes do not know them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { postgresArtifacts, postgresDirectory } from 'tenant-idp/adapters/postgres';
import type { PostgresPool } from '../../../adapters/postgres/pool.js';
import type { CollectionSpec, Row } from '../../../lib/store/directory-store.js';
import { describePostgres } from '../../servers/installed.js';
import { statement } from '../../support/stores/places.js';
import { withPostgres } from '../../support/stores/postgres.js';
import { PostgresServer } from '../../support/stores/postgres-server.js';
import { until } from '../../support/time/until.js';

interface Member extends Row {
  readonly tid: string;
  readonly name: string;
}

const before: CollectionSpec = { name: 'members', indexes: { byName: { fields: ['tid', 'name'], unique: true } } };
const after: CollectionSpec = {
  name: 'members',
  indexes: { ...before.indexes, byTenant: { fields: ['tid'] }, inOrderOfName: { fields: ['name'], order: 'text' } },
};
const numbered = (index: number): Omit<Member, 'version'> => ({ id: `m${String(index).padStart(5, '0')}`, tid: 't', name: `n${index}` });

withPostgres('POSTGRES_URL', (postgres) => {
  const query = async (text: string, values: unknown[] = []) => (await postgres.pool.query<Record<string, unknown>>(text, values)).rows;
  const tablesOf = async (prefix: string, schema = 'public') =>
    (
      await query(
        "select relname from pg_class c join pg_namespace n on n.oid = relnamespace where nspname = $1 and relkind = 'r' and relname like $2 order by 1",
        [schema, `${prefix}%`],
      )
    ).map(({ relname }) => String(relname).slice(prefix.length));
  const opened = async (prefix: string, spec: CollectionSpec, pool: PostgresPool = postgres.pool) => {
    const directory = postgresDirectory({ pool, prefix });
    await directory.open([spec]);
    return directory.collection<Member>('members');
  };
  const indexesOf = (prefix: string) => query(`select name, is_complete from "${prefix}indexes" order by id`);
  /** Returns entries without a row, and missing entries of rows, by the name of the row: none, if all is well. */
  const strays = async (prefix: string) => {
    const rows = (await query(`select content from "${prefix}rows"`)).map(({ content }) => JSON.parse(String(content)) as Member);
    const entries = (await query(`select name, key, e.id from "${prefix}entries" e join "${prefix}indexes" i on i.id = index_id`)).map(
      (entry) => `${entry.name} ${entry.key} ${entry.id}`,
    );
    const expected = rows.flatMap(({ id, tid, name }) => [
      `byName ${tid}\u0001${name} ${id}`,
      `byTenant ${tid} ${id}`,
      `inOrderOfName ${name} ${id}`,
    ]);
    const [have, want] = [new Set(entries), new Set(expected)];
    return { stale: entries.filter((entry) => !want.has(entry)), lacking: expected.filter((entry) => !have.has(entry)) };
  };
  const none = { stale: [], lacking: [] };

  describe('tables', () => {
    test('many nodes that start together make every table and register every index once', async () => {
      const prefix = postgres.prefix();
      const pools = Array.from({ length: 4 }, () => postgres.connect({ max: 2 }));
      await Promise.all(
        [...pools, ...pools]
          .flatMap((pool) => [postgresArtifacts({ pool, prefix }), postgresDirectory({ pool, prefix })])
          .map(async (store) => {
            if ('collection' in store) await store.open([after]);
            else await store.open();
            await store.close();
          }),
      );
      expect(await tablesOf(prefix)).toEqual(['artifacts', 'counters', 'entries', 'indexes', 'leases', 'rows']);
      expect(await indexesOf(prefix)).toEqual(['byName', 'byTenant', 'inOrderOfName'].map((name) => ({ name, is_complete: true })));
    });

    test('they are in the schema that is named, and texts are sorted by their bytes', async () => {
      const prefix = postgres.prefix();
      await query('create schema "own-1"');
      await postgresDirectory({ pool: postgres.pool, prefix, schema: 'own-1' }).open([before]);
      expect(await tablesOf(prefix, 'own-1')).toEqual(['entries', 'indexes', 'rows']);
      const collations = await query(
        `select distinct collation_name from information_schema.columns where table_schema = 'own-1' and data_type = 'text'`,
      );
      expect(collations).toEqual([{ collation_name: 'C' }]);
      const tuned = await query(
        `select relname, reloptions::text as options from pg_class where relname in ('${prefix}rows', '${prefix}entries')`,
      );
      for (const { options } of tuned) expect(options).toMatch(/autovacuum_vacuum_scale_factor=0.01/);
    });

    test('a role that may not create is enough where they exist, and is refused by name where they do not', async () => {
      const [prefix, empty] = [postgres.prefix(), postgres.prefix()];
      const role = `service_${process.pid}`;
      await opened(prefix, before);
      await query(`create role ${role} login`);
      try {
        for (const table of ['rows', 'indexes', 'entries'])
          await query(`grant select, insert, update, delete on "${prefix}${table}" to ${role}`);
        const pool = postgres.connect({ connectionString: Object.assign(new URL(postgres.url), { username: role }).href });
        const members = await opened(prefix, after, pool);
        await members.insert(numbered(1));
        expect(await members.find({ byTenant: ['t'] })).toHaveLength(1);
        const refused = {
          code: 'store_unfit',
          details: { store: 'postgres', setting: 'privileges', change: expect.stringContaining('grant') },
        };
        await expect(opened(empty, before, pool)).rejects.toMatchObject(refused);
        await query(`revoke update on "${prefix}rows" from ${role}`);
        await expect(opened(prefix, after, pool)).rejects.toMatchObject(refused);
        await postgresArtifacts({ pool: postgres.pool, prefix }).open();
        await expect(postgresArtifacts({ pool, prefix }).open()).rejects.toMatchObject(refused);
        await expect(postgresDirectory({ pool, prefix, schema: 'absent' }).open([before])).rejects.toMatchObject({ code: 'store_unfit' });
        await pool.end();
      } finally {
        await query(`drop owned by ${role}`);
        await query(`drop role ${role}`);
      }
    });
  });

  describe('servers that would lose records', () => {
    const refusalOf = async (pool: PostgresPool) => {
      const prefix = postgres.prefix();
      const errors = [];
      for (const opening of [postgresDirectory({ pool, prefix }).open([before]), postgresArtifacts({ pool, prefix }).open()]) {
        errors.push(
          await opening.then(
            () => undefined,
            ({ code, details }: { code: string; details: { setting: string } }) => `${code} ${details.setting}`,
          ),
        );
      }
      expect(new Set(errors).size).toBe(1);
      expect(await tablesOf(prefix)).toEqual([]);
      return errors[0];
    };

    test.each([
      ['synchronous_commit', 'off'],
      ['array_nulls', 'off'],
      ['default_transaction_isolation', 'serializable'],
      ['default_transaction_isolation', 'repeatable\\ read'],
    ])('%s %s of a role is refused', async (setting, value) => {
      expect(await refusalOf(postgres.connect({ options: `-c ${setting}=${value}` }))).toBe(`store_unfit ${setting}`);
    });

    test('a role that only reads is refused', async () => {
      const pool = postgres.connect({ options: '-c default_transaction_read_only=on' });
      expect(await refusalOf(pool)).toBe('store_unfit transaction_read_only');
    });

    test('a database with another encoding is refused', async () => {
      const database = `latin_${process.pid}`;
      await query(`create database ${database} encoding 'LATIN1' locale 'C' template template0`);
      const pool = postgres.connect({ connectionString: postgres.url.replace(/\/[^/]*$/, `/${database}`) });
      expect(await refusalOf(pool)).toBe('store_unfit server_encoding');
      await pool.end();
      await query(`drop database ${database}`);
    });

    describePostgres('over own PostgreSQL servers', () => {
      test('a replica, and a server that does not write to its disk, are refused with what to change', async () => {
        const server = await PostgresServer.start();
        const opening = async (url: string) => {
          const pool = postgres.connect({ connectionString: url });
          const error = await postgresDirectory({ pool })
            .open([before])
            .catch((reason: unknown) => reason);
          await pool.end();
          return error;
        };
        try {
          const replica = await server.replica();
          const details = { setting: 'pg_is_in_recovery()', change: expect.stringContaining('primary') };
          expect(await opening(replica.url)).toMatchObject({ code: 'store_unfit', details });
          await replica.stop();
          for (const setting of ['fsync', 'full_page_writes']) {
            await statement(server.url, `alter system set ${setting} = off`);
            await statement(server.url, 'select pg_reload_conf()');
            await until(async () => (await statement(server.url, `show ${setting}`))[0]?.[setting] === 'off');
            expect(await opening(server.url)).toMatchObject({
              code: 'store_unfit',
              details: { store: 'postgres', setting, found: 'off', expected: 'on', change: expect.stringContaining('alter system') },
            });
            await statement(server.url, `alter system reset ${setting}`);
            await statement(server.url, 'select pg_reload_conf()');
            await until(async () => (await statement(server.url, `show ${setting}`))[0]?.[setting] === 'on');
          }
          expect(await opening(server.url)).toBeUndefined();
        } finally {
          await server.stop();
        }
      }, 60_000);
    });
  });

  describe('an index that a newer version declares', () => {
    test('a node of the version before writes rows that are in it, without a restart', async () => {
      const prefix = postgres.prefix();
      const old = await opened(prefix, before, postgres.connect());
      await old.insert(numbered(1));
      const members = await opened(prefix, after);
      await old.insert(numbered(2));
      await old.update('m00001', (row) => ({ ...row, name: 'moved' }));
      await old.put({ ...numbered(3), tid: 'u' });
      await old.put({ ...numbered(3), tid: 't' });
      await old.insert(numbered(4));
      await old.remove('m00004');
      expect((await members.range({ index: 'inOrderOfName', within: [], limit: 9 })).map(({ name }) => name)).toEqual([
        'moved',
        'n2',
        'n3',
      ]);
      expect(await members.find({ byTenant: ['t'] })).toHaveLength(3);
      expect(await strays(prefix)).toEqual(none);
    });

    test('a write that began before the registration is in it, because the registration waits for the end of the write', async () => {
      const prefix = postgres.prefix();
      await opened(prefix, before);
      let finish = (): void => {};
      const held = new Promise<void>((resolve) => {
        finish = resolve;
      });
      let began = (): void => {};
      const running = new Promise<void>((resolve) => {
        began = resolve;
      });
      const slow: PostgresPool = {
        async connect() {
          const client = await postgres.pool.connect();
          return {
            async query(text, values) {
              if (!text.includes('insert into')) return client.query(text, values);
              await client.query('begin');
              const answer = await client.query(text, values);
              began();
              await held;
              await client.query('commit');
              return answer;
            },
            release: (destroy) => client.release(destroy),
          };
        },
      };
      const directory = postgresDirectory({ pool: slow, prefix });
      await directory.open([before]);
      const inserting = directory.collection<Member>('members').insert(numbered(1));
      await running;
      const opening = opened(prefix, after);
      await sleep(500);
      expect((await indexesOf(prefix)).map(({ name }) => name)).toEqual(['byName']);
      finish();
      await inserting;
      expect(await (await opening).find({ byTenant: ['t'] })).toHaveLength(1);
      expect(await strays(prefix)).toEqual(none);
    });

    test('rows that nodes change, add and remove while the index is filled have exactly their own entries', async () => {
      const prefix = postgres.prefix();
      const old = await opened(prefix, before, postgres.connect());
      for (let start = 0; start < 3000; start += 100) {
        await Promise.all(Array.from({ length: 100 }, (_, index) => old.insert(numbered(start + index))));
      }
      let isFilled = false;
      const opening = Promise.all([opened(prefix, after), opened(prefix, after, postgres.connect())]).finally(() => {
        isFilled = true;
      });
      let writes = 0;
      const write = async (): Promise<void> => {
        for (; !isFilled; writes += 1) {
          const { id } = numbered(Math.floor(Math.random() * 3000));
          const renamed = `x${Math.floor(Math.random() * 1e9)}`;
          if (writes % 7 === 0) await old.remove(id);
          else if (writes % 5 === 0) await old.put({ id, tid: 't', name: renamed });
          else await old.update(id, (row) => ({ ...row, name: renamed }));
        }
      };
      await Promise.all(Array.from({ length: 6 }, write));
      await opening;
      expect(writes).toBeGreaterThan(20);
      expect(await strays(prefix)).toEqual(none);
      expect((await indexesOf(prefix)).every(({ is_complete }) => is_complete)).toBe(true);
    }, 60_000);

    test('a fill that was killed is continued by the next start', async () => {
      const prefix = postgres.prefix();
      const old = await opened(prefix, before);
      for (let start = 0; start < 1200; start += 100) {
        await Promise.all(Array.from({ length: 100 }, (_, index) => old.insert(numbered(start + index))));
      }
      let fills = 0;
      const mortal: PostgresPool = {
        async connect() {
          const client = await postgres.pool.connect();
          return {
            query(text, values) {
              if (text.includes('set filled')) fills += 1;
              return fills > 1 ? Promise.reject(new Error('killed')) : client.query(text, values);
            },
            release: (destroy) => client.release(destroy),
          };
        },
      };
      await expect(opened(prefix, after, mortal)).rejects.toThrow('killed');
      expect((await indexesOf(prefix)).filter(({ is_complete }) => !is_complete)).toHaveLength(2);
      const members = await opened(prefix, after);
      expect(await members.find({ byTenant: ['t'] })).toHaveLength(1200);
      expect(await strays(prefix)).toEqual(none);
    }, 30_000);

    test('rows with the same unique value refuse the start by the name of the collection, and nodes of the version before go on', async () => {
      const prefix = postgres.prefix();
      const old = await opened(prefix, { name: 'members', indexes: {} }, postgres.connect());
      await old.insert({ id: 'a', tid: 't', name: 'same' });
      await old.insert({ id: 'b', tid: 't', name: 'same' });
      await expect(opened(prefix, before)).rejects.toMatchObject({ code: 'conflict', details: { collection: 'members' } });
      await old.insert({ id: 'c', tid: 't', name: 'same' });
      expect(await query(`select * from "${prefix}entries"`)).toEqual([]);
      await old.remove('a');
      await old.remove('b');
      const members = await opened(prefix, before);
      await expect(old.insert({ id: 'd', tid: 't', name: 'same' })).rejects.toMatchObject({ code: 'conflict' });
      expect(await members.find({ byName: ['t', 'same'] })).toMatchObject([{ id: 'c' }]);
    });

    test.each([
      ['over other fields', { fields: ['tid'], unique: true }],
      ['that is not unique', { fields: ['tid', 'name'] }],
      ['with an order', { fields: ['tid', 'name'], unique: true, order: 'text' } as const],
    ])('an index of the same name %s is refused', async (_, spec) => {
      const prefix = postgres.prefix();
      await opened(prefix, before);
      const opening = opened(prefix, { name: 'members', indexes: { byName: spec } });
      await expect(opening).rejects.toMatchObject({ code: 'store_unfit', details: { collection: 'members', index: 'byName' } });
    });

    test('a row that the index refuses can still be changed to one that it accepts, and removed', async () => {
      const prefix = postgres.prefix();
      const lists = (names: readonly string[]) => ({ tid: ['t', 'u'], name: names }) as unknown as Omit<Member, 'id' | 'version'>;
      const old = await opened(prefix, { name: 'members', indexes: { byTenant: { fields: ['tid'] } } });
      for (const id of ['a', 'b']) await old.insert({ id, ...lists(['n']) });
      const members = await opened(prefix, { name: 'members', indexes: { byTenant: { fields: ['tid'] }, byName: before.indexes.byName! } });
      await expect(members.update('a', (row) => ({ ...row, ...lists(['other']) }))).rejects.toThrow(TypeError);
      await members.update('a', (row) => ({ ...row, tid: 't', name: 'n' }));
      expect(await members.find({ byName: ['t', 'n'] })).toMatchObject([{ id: 'a' }]);
      expect((await members.find({ byTenant: ['u'] })).map(({ id }) => id)).toEqual(['b']);
      for (const id of ['a', 'b']) expect(await old.remove(id)).toBe(true);
      expect(await query(`select * from "${prefix}entries"`)).toEqual([]);
    });

    test('a start over a pool of one connection fills an index while calls are answered', async () => {
      const prefix = postgres.prefix();
      const old = await opened(prefix, before);
      for (let start = 0; start < 1500; start += 100) {
        await Promise.all(Array.from({ length: 100 }, (_, index) => old.insert(numbered(start + index))));
      }
      const directory = postgresDirectory({ pool: postgres.connect({ max: 1 }), prefix });
      let isOpen = false;
      const opening = directory.open([after]).finally(() => {
        isOpen = true;
      });
      let answers = 0;
      for (; !isOpen; answers += 1) await directory.health();
      await opening;
      expect(answers).toBeGreaterThan(3);
    }, 30_000);
  });
});
