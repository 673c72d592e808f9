/** Issue 44: rows and indexes that another node changes between two statements of a call. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { postgresDirectory } from 'tenant-idp/adapters/postgres';
import type { PostgresPool } from '../../../adapters/postgres/pool.js';
import type { CollectionSpec, Row } from '../../../lib/store/directory-store.js';
import { withPostgres } from '../../support/stores/postgres.js';
import { Holder, waitsForLocks } from '../../support/stores/postgres-holder.js';

interface Member extends Row {
  readonly tid: string;
  readonly name: string;
}

const byName = { fields: ['tid', 'name'], unique: true };
const byTenant = { fields: ['tid'] };
const specOf = (indexes: CollectionSpec['indexes']): CollectionSpec => ({ name: 'members', indexes });
const member = (id: string, name: string, tid = 't') => ({ id, tid, name });

withPostgres('POSTGRES_URL', (postgres) => {
  const query = async (text: string) => (await postgres.pool.query<Record<string, unknown>>(text)).rows;
  const opened = async (prefix: string, spec: CollectionSpec, pool: PostgresPool = postgres.pool) => {
    const directory = postgresDirectory({ pool, prefix });
    await directory.open([spec]);
    return directory.collection<Member>('members');
  };
  const entriesOf = async (prefix: string) =>
    (await query(`select key, id from "${prefix}entries" order by 1, 2`)).map(
      ({ key, id }) => `${id} ${String(key).replace('\u0001', '|')}`,
    );
  /** Returns a pool that runs `meanwhile` once, before it sends the first statement with this text. */
  const interrupted = (part: string, meanwhile: () => Promise<unknown>): PostgresPool => {
    let isDue = true;
    return {
      async connect() {
        const client = await postgres.pool.connect();
        return {
          async query(text, values) {
            if (isDue && text.includes(part)) {
              isDue = false;
              await meanwhile();
            }
            return client.query(text, values);
          },
          release: (destroy) => client.release(destroy),
        };
      },
    };
  };

  describe('a row that was removed and inserted again has the version that a write read', () => {
    const spec = specOf({ byTenant, byName });
    const replaced = async (part: string) => {
      const prefix = postgres.prefix();
      const members = await opened(prefix, spec);
      await members.insert(member('x', 'first'));
      const pool = interrupted(part, async () => {
        await members.remove('x');
        await members.insert(member('x', 'second', 'u'));
      });
      return { prefix, members, other: await opened(prefix, spec, pool) };
    };

    test('an update changes the row that is there, and its entries', async () => {
      const { prefix, members, other } = await replaced('set version');
      expect(await other.update('x', (row) => ({ ...row, name: `${row.name}!` }))).toEqual({ ...member('x', 'second!', 'u'), version: 2 });
      expect(await entriesOf(prefix)).toEqual(['x u', 'x u|second!']);
      expect(await members.find({ byTenant: ['t'] })).toEqual([]);
      await members.insert(member('y', 'second', 'u'));
    });

    test('a removal takes the entries of the row that is there', async () => {
      const { prefix, other } = await replaced('delete from');
      expect(await other.remove('x')).toBe(true);
      expect(await entriesOf(prefix)).toEqual([]);
    });
  });

  describe('a unique index that is taken back', () => {
    const withDuplicates = async () => {
      const prefix = postgres.prefix();
      const old = await opened(prefix, specOf({}));
      for (const id of ['a', 'b']) await old.insert(member(id, 'same'));
      return { prefix, old };
    };

    test('no longer holds nodes that know it, though a later index of the collection stays', async () => {
      const { prefix, old } = await withDuplicates();
      const pool = interrupted('set filled', () => old.insert(member('c', 'other')));
      await expect(opened(prefix, specOf({ byName, byTenant }), pool)).rejects.toMatchObject({ code: 'conflict' });
      for (const id of ['d', 'e']) await old.insert(member(id, 'same'));
      expect(await old.find({})).toHaveLength(5);
    });

    test('keeps its entries when another node has completed it meanwhile', async () => {
      const { prefix, old } = await withDuplicates();
      const pool = interrupted('gone as (delete', async () => {
        await old.remove('b');
        await opened(prefix, specOf({ byName }));
      });
      await expect(opened(prefix, specOf({ byName }), pool)).rejects.toMatchObject({ code: 'conflict' });
      expect(await entriesOf(prefix)).toEqual(['a t|same']);
      await expect(old.insert(member('d', 'same'))).rejects.toMatchObject({ code: 'conflict' });
    });
  });

  test('a replacement that waited for its row, and then for an entry that it removes, writes nothing after its refusal', async () => {
    const prefix = postgres.prefix();
    const members = await opened(prefix, specOf({ byName }));
    await members.insert(member('x', 'first'));
    const row = await Holder.of(postgres.pool, `select 1 from "${prefix}rows" for update`);
    const entry = await Holder.of(postgres.pool, `select 1 from "${prefix}entries" for update`);
    const began = performance.now();
    const update = members.update('x', (current) => ({ ...current, name: 'second' }));
    const refused = expect(update).rejects.toThrow(/PostgreSQL did not answer/);
    // The first attempt gives up after 500 ms. The second attempt has the row before its deadline, and not the entry.
    await sleep(960 - (performance.now() - began));
    await row.end('rollback');
    await waitsForLocks(postgres.pool);
    await refused;
    await sleep(100);
    await entry.end('rollback');
    await sleep(300);
    expect((await members.get('x'))?.name).toBe('first');
    expect(await entriesOf(prefix)).toEqual(['x t|first']);
  });

  test('a call whose statement is never answered keeps no later write of its row waiting', async () => {
    const prefix = postgres.prefix();
    await (await opened(prefix, specOf({ byName }))).insert(member('x', 'first'));
    const members = await opened(
      prefix,
      specOf({ byName }),
      interrupted('set version', () => new Promise(() => {})),
    );
    const rename = (name: string) => members.update('x', (row) => ({ ...row, name }));
    await expect(rename('second')).rejects.toThrow(/PostgreSQL did not answer/);
    expect((await rename('third'))?.name).toBe('third');
  });
});
