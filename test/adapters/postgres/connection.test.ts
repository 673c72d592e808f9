/** Issue 44: sending of statements: within the deadline, retried when they lose to others, and never later. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Pool, PoolClient } from 'pg';
import { postgresDirectory } from 'tenant-idp/adapters/postgres';
import { BOUND, Connection } from '../../../adapters/postgres/connection.js';
import type { PostgresClient, PostgresPool } from '../../../adapters/postgres/pool.js';
import type { Row } from '../../../lib/store/directory-store.js';
import { withPostgres } from '../../support/stores/postgres.js';
import { startTcpProxy, type TcpProxy } from '../../support/stores/tcp-proxy.js';
import { IN_TIME } from '../../support/time/in-time.js';

/** Milliseconds after the deadline, in which a late statement would show. */
const LATER_MS = 1000;

interface Member extends Row {
  readonly name?: string;
}

withPostgres('POSTGRES_URL', (postgres) => {
  const prefix = postgres.prefix();
  const rows = `"${prefix}rows"`;
  const specs = [{ name: 'members', indexes: { byName: { fields: ['name'], unique: true } } }];
  const directoryOver = async (pool: PostgresPool) => {
    const directory = postgresDirectory({ pool, prefix });
    await directory.open(specs);
    return directory.collection<Member>('members');
  };
  const idsOf = async (...ids: readonly string[]) => {
    const { rows: found } = await postgres.pool.query<{ id: string }>(`select id from ${rows} where id = any($1) order by id`, [ids]);
    return found.map(({ id }) => id);
  };
  const timed = async (call: Promise<unknown>) => {
    const began = performance.now();
    const outcome = await call.then(
      () => 'answered',
      (error: unknown) => String((error as Error).message),
    );
    return { outcome, time: performance.now() - began };
  };
  /** Runs `work` while another connection is in a transaction that holds locks. */
  const whileLocked = async <T>(lock: string, work: (holder: PoolClient) => Promise<T>): Promise<T> => {
    const holder = await postgres.pool.connect();
    try {
      await holder.query('begin');
      await holder.query(lock);
      return await work(holder);
    } finally {
      await holder.query('rollback');
      holder.release();
    }
  };

  let one: Pool;
  let proxy: TcpProxy;
  afterAll(() => proxy.close());
  beforeAll(async () => {
    const { hostname, port } = new URL(postgres.url);
    proxy = await startTcpProxy({ host: hostname, port: Number(port) });
    one = postgres.connect({ max: 1 });
    await directoryOver(postgres.pool);
  });

  describe('a pool of one connection', () => {
    test('serves parallel calls of every kind, because no call waits for a second connection', async () => {
      const members = await directoryOver(one);
      const ids = Array.from({ length: 8 }, (_, index) => `one-${index}`);
      await Promise.all(ids.map((id) => members.insert({ id, name: id })));
      await Promise.all(
        ids.flatMap((id) => [members.update(id, (row) => ({ ...row, name: `${id}!` })), members.get(id), members.put({ id: `${id}p` })]),
      );
      expect((await Promise.all(ids.map((id) => members.find({ byName: [`${id}!`] })))).flat()).toHaveLength(8);
      expect((await Promise.all(ids.map((id) => members.remove(id)))).every(Boolean)).toBe(true);
    });

    test('a statement that waited in the queue past its deadline is refused in time, and never sent', async () => {
      const members = await directoryOver(one);
      const busy = await one.connect();
      const { outcome, time } = await timed(members.insert({ id: 'queued' }));
      expect(outcome).toMatch(/PostgreSQL did not answer/);
      expect(time).toBeLessThan(IN_TIME);
      busy.release();
      await sleep(LATER_MS);
      expect(await idsOf('queued')).toEqual([]);
      await members.insert({ id: 'afterwards' });
    });
  });

  describe('locks', () => {
    test.each([
      ['a row', (members: Member) => `update ${rows} set version = version where id = '${members.id}'`],
      ['the table', () => `lock table ${rows} in access exclusive mode`],
    ])('a write that waits for %s is refused in time, and is not done when the lock is free', async (_, lock) => {
      const members = await directoryOver(postgres.connect());
      const row = await members.put({ id: 'locked', name: 'before' });
      await whileLocked(lock(row), async () => {
        const call = members.update('locked', (current) => ({ ...current, name: 'late' }));
        const { outcome, time } = await timed(call);
        expect(outcome).toMatch(/PostgreSQL did not answer/);
        expect(time).toBeLessThan(IN_TIME);
      });
      await sleep(LATER_MS);
      expect(await members.get('locked')).toEqual(row);
    });

    test('a write that waits for one lock after the other is not done after it is refused', async () => {
      const members = await directoryOver(one);
      await members.put({ id: 'twice', name: 'single' });
      const busy = await one.connect();
      const writing = timed(members.update('twice', (row) => ({ ...row, name: 'both' })));
      const taken = `insert into "${prefix}entries" select id, 'both', 'other', true from "${prefix}indexes" where name = 'byName'`;
      await Promise.all([
        sleep(600).then(() => busy.release()),
        whileLocked(`update ${rows} set version = version where id = 'twice'`, () => sleep(940)),
        whileLocked(taken, () => sleep(1290)),
      ]);
      const { outcome, time } = await writing;
      expect(outcome).toMatch(/PostgreSQL did not answer/);
      expect(time).toBeLessThan(IN_TIME);
      await sleep(LATER_MS);
      expect(await members.get('twice')).toMatchObject({ name: 'single' });
    });

    test('a write that waits for a lock shortly is done', async () => {
      const members = await directoryOver(postgres.pool);
      const row = await members.put({ id: 'shortly' });
      const held = whileLocked(`update ${rows} set version = version where id = '${row.id}'`, () => sleep(700));
      await sleep(100);
      expect(await members.update('shortly', (current) => ({ ...current, name: 'done' }))).toMatchObject({ name: 'done' });
      await held;
    });

    test('two rows that swap a unique value at the same time end in time, by the rules', async () => {
      const members = await directoryOver(postgres.pool);
      await members.insert({ id: 'swap-1', name: 'left' });
      await members.insert({ id: 'swap-2', name: 'right' });
      const swaps = [
        members.update('swap-1', (row) => ({ ...row, name: 'right' })),
        members.update('swap-2', (row) => ({ ...row, name: 'left' })),
      ];
      for (const result of await Promise.allSettled(swaps)) {
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'conflict' });
      }
      const names = [(await members.get('swap-1'))?.name, (await members.get('swap-2'))?.name];
      expect(new Set(names).size).toBe(2);
    });
  });

  describe('errors of the server', () => {
    const connection = new Connection(postgres.pool);
    /** A pool whose first statements fail. */
    const failing = (...errors: readonly Error[]) => {
      const left = [...errors];
      const sent: string[] = [];
      const released: unknown[] = [];
      const client: PostgresClient = {
        async query(text) {
          sent.push(text);
          const error = left.shift();
          if (error) throw error;
          return { rows: [{ done: 'yes' }] };
        },
        release: (destroy) => void released.push(destroy),
      };
      return { pool: { connect: async () => client }, sent, released };
    };
    const sqlError = (code: string) => Object.assign(new Error(`error ${code}`), { code, severity: 'ERROR', detail: 'Key (key)=(alice)' });

    test.each(['40001', '40P01', '55P03'])('%s is retried within the deadline, on a connection that is kept', async (code) => {
      const { pool, sent, released } = failing(sqlError(code), sqlError(code));
      expect(await new Connection(pool).write(`with ${BOUND} select`)).toEqual([{ done: 'yes' }]);
      expect(sent).toHaveLength(3);
      expect(released).toEqual([false, false, false]);
    });

    test.each(['57P01', '53300', '08006', '25006'])('%s is not retried, and the connection is closed', async (code) => {
      const { pool, sent, released } = failing(sqlError(code));
      await expect(new Connection(pool).write(`with ${BOUND} select`)).rejects.toThrow(code);
      expect([sent.length, released]).toEqual([1, [true]]);
    });

    test('a deadlock without end ends at the deadline', async () => {
      const { pool } = failing(...Array.from({ length: 10_000 }, () => sqlError('40P01')));
      const { outcome, time } = await timed(new Connection(pool).write(`with ${BOUND} select`));
      expect(outcome).toMatch(/PostgreSQL did not answer/);
      expect(time).toBeLessThan(IN_TIME);
    });

    test('a duplicate is a conflict, whose cause has none of the values', async () => {
      const members = await directoryOver(postgres.pool);
      await members.insert({ id: 'first', name: 'a secret name' });
      const error = await members.insert({ id: 'second', name: 'a secret name' }).catch((reason: unknown) => reason as Error);
      expect(error).toMatchObject({ code: 'conflict', cause: { code: '23505' } });
      expect(JSON.stringify({ ...(error as Error), cause: { ...((error as Error).cause as object) } })).not.toContain('a secret name');
    });

    test('a connection that the host released within a transaction is closed, and not written on', async () => {
      const host = await one.connect();
      await host.query('begin');
      host.release();
      const members = await directoryOver(one);
      await members.insert({ id: 'acknowledged' });
      expect(await idsOf('acknowledged')).toEqual(['acknowledged']);
    });

    test.each([
      ['the server ends', async (pid: string) => void (await postgres.pool.query('select pg_terminate_backend($1)', [pid]))],
      ['breaks', async () => proxy.cut()],
    ])('a connection that %s under a statement refuses the call, and leaves the process and the pool well', async (_, end) => {
      const own = new Connection(postgres.connect({ max: 1 }, `127.0.0.1:${proxy.port}`));
      const [{ pid } = {}] = await own.read('select pg_backend_pid()::text as pid');
      const call = own.read('select pg_sleep(1)::text as slept');
      await Promise.all([expect(call).rejects.toThrow(/terminat/), sleep(100).then(() => end(pid as string))]);
      expect(await own.read('select 1::text as one')).toEqual([{ one: '1' }]);
    });

    test("the time is the server's, in whole milliseconds", async () => {
      const time = await connection.time();
      expect(Number.isSafeInteger(time)).toBe(true);
      expect(Math.abs(time - Date.now())).toBeLessThan(5000);
    });
  });
});
