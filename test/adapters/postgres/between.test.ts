/** Issue 44: rows and indexes that another node changes between two statements of a call. */
import { describe, expect, test } from '@jest/globals';
import { postgresDirectory } from 'tenant-idp/adapters/postgres';
import type { PostgresPool } from '../../../adapters/postgres/pool.js';
import type { CollectionSpec, Row } from '../../../lib/store/directory-store.js';
import { withPostgres } from '../../support/stores/postgres.js';

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
  /** A pool that does something once, before it sends the first statement with this text. */
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
});
