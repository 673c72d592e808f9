/** Issue 44: the whole service on PostgreSQL, artifacts and directory. */
import { describe, expect, test } from '@jest/globals';
import { createIdentityProvider } from 'tenant-idp';
import { postgresArtifacts, postgresDirectory } from 'tenant-idp/adapters/postgres';
import { journey, journeySeed, wholeJourney } from '../../support/client/journey.js';
import { useIdp } from '../../support/service/use-idp.js';
import { withPostgres } from '../../support/stores/postgres.js';

withPostgres('POSTGRES_URL', (postgres) => {
  const prefix = postgres.prefix();
  const encryption = ['a key of the test for what is kept encrypted'];
  const query = async (text: string) => (await postgres.pool.query<Record<string, unknown>>(text)).rows;
  const storesOf = (own: string, pool = postgres.pool) => ({
    artifacts: postgresArtifacts({ pool, prefix: own }),
    directory: postgresDirectory({ pool, prefix: own }),
  });

  describe('the service on PostgreSQL', () => {
    const service = useIdp(() => ({ seed: journeySeed, ...storesOf(prefix) }));

    test('signs in, issues and refreshes tokens, and signs out', async () => {
      expect(await journey(service.issuer)).toMatchObject(wholeJourney(service.issuer));
      expect(service.logged).toEqual([]);
      expect(await service.idp.health()).toEqual({ status: 'up', artifacts: 'up', directory: 'up', problems: [] });
    });

    test('J5: the database has nothing that was handed out', async () => {
      const { tokens, refreshed, setCookies } = await journey(service.issuer);
      const tables = (await query('select tablename from pg_tables where schemaname = current_schema()')).map(({ tablename }) =>
        String(tablename),
      );
      const dump = JSON.stringify(await Promise.all(tables.map((table) => query(`select * from "${table}"`))));
      const cookies = setCookies.map((line) => line.slice(line.indexOf('=') + 1).split(';')[0] ?? '').filter((value) => value.length > 20);
      const handedOut = [tokens.access_token, tokens.refresh_token, refreshed.access_token, refreshed.refresh_token, ...cookies];
      expect(dump.length).toBeGreaterThan(10_000);
      expect(handedOut.length).toBeGreaterThan(5);
      expect(handedOut.filter((secret) => dump.includes(secret))).toEqual([]);
    });

    test('nodes that start together over an empty database agree on the seed', async () => {
      const empty = postgres.prefix();
      const nodes = await Promise.all(
        [1, 2, 3].map(() =>
          createIdentityProvider({
            issuer: 'http://localhost:3000',
            seed: journeySeed,
            ...storesOf(empty, postgres.connect()),
            keys: { encryption },
            logger: { debug() {}, info() {}, warn() {}, error() {} },
          }),
        ),
      );
      const found = await Promise.all(nodes.map((node) => node.directory.clients.get('web')));
      expect(found).toEqual(nodes.map(() => expect.objectContaining({ id: 'web' })));
      expect(await query(`select count(*)::int as persons from "${empty}rows" where collection = 'persons'`)).toEqual([{ persons: 1 }]);
      await Promise.all(nodes.map((node) => node.close()));
    });

    test('a service over a pool of one connection starts and answers', async () => {
      const pool = postgres.connect({ max: 1 });
      const idp = await createIdentityProvider({
        issuer: 'http://localhost:3000',
        seed: journeySeed,
        ...storesOf(postgres.prefix(), pool),
        keys: { encryption },
        logger: { debug() {}, info() {}, warn() {}, error() {} },
      });
      expect((await idp.health()).status).toBe('up');
      await idp.close();
      expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    });
  });
});
