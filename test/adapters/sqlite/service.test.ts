/** Issue 44: the whole service over a file, artifacts and directory. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { createIdentityProvider } from 'tenant-idp';
import { sqliteArtifacts, sqliteDirectory } from 'tenant-idp/adapters/sqlite';
import { productionOptions } from '../../options/production-options.js';
import { journey, journeySeed, wholeJourney } from '../../support/client/journey.js';
import { useIdp } from '../../support/service/use-idp.js';
import { openFile, withSqlite } from '../../support/stores/sqlite.js';

withSqlite((files) => {
  const file = files.file();
  const encryption = ['a key of the test for what is kept encrypted'];
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const storesOf = (path: string) => ({ artifacts: sqliteArtifacts({ file: path }), directory: sqliteDirectory({ file: path }) });

  describe('the service over a file', () => {
    const service = useIdp(() => ({ seed: journeySeed, ...storesOf(file) }));

    test('signs in, issues and refreshes tokens, and signs out', async () => {
      expect(await journey(service.issuer)).toMatchObject(wholeJourney(service.issuer));
      expect(service.logged).toEqual([]);
      expect(await service.idp.health()).toEqual({ status: 'up', artifacts: 'up', directory: 'up', problems: [] });
    });

    test('J5: what it leaves in the file is none of what it handed out', async () => {
      const { tokens, refreshed, setCookies } = await journey(service.issuer);
      const other = openFile(file);
      other.exec('pragma wal_checkpoint(passive)');
      other.close();
      const dump = readFileSync(file, 'latin1') + readFileSync(`${file}-wal`, 'latin1');
      const cookies = setCookies.map((line) => line.slice(line.indexOf('=') + 1).split(';')[0] ?? '').filter((value) => value.length > 20);
      const handedOut = [tokens.access_token, tokens.refresh_token, refreshed.access_token, refreshed.refresh_token, ...cookies];
      expect(dump.length).toBeGreaterThan(10_000);
      expect(handedOut.length).toBeGreaterThan(5);
      expect(handedOut.filter((secret) => dump.includes(secret))).toEqual([]);
    });
  });

  test('a service that starts again has its records', async () => {
    const path = files.file();
    const start = () =>
      createIdentityProvider({ issuer: 'http://localhost:3000', seed: journeySeed, keys: { encryption }, logger, ...storesOf(path) });
    const first = await start();
    const client = await first.directory.clients.get('web');
    await first.close();
    const second = await start();
    expect(client).toBeDefined();
    expect(await second.directory.clients.get('web')).toMatchObject({ id: 'web', createdAt: client?.createdAt });
    await second.close();
  });

  test('production accepts the stores, and logs once that they serve one process', async () => {
    process.env.NODE_ENV = 'production';
    const lines: unknown[][] = [];
    const recorder = { ...logger, info: (...line: unknown[]) => void lines.push(line) };
    const idp = await createIdentityProvider({ ...productionOptions(), ...storesOf(files.file()), logger: recorder });
    await idp.close();
    expect(lines.filter(([, message]) => message === 'the store serves one process')).toEqual([
      [{ stores: ['sqlite'] }, 'the store serves one process'],
    ]);
  });
});
