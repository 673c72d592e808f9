/** Issue 44: checkpoints and backups while requests run. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { sqliteArtifacts, sqliteDirectory } from 'tenant-idp/adapters/sqlite';
import { hashedKey } from '../../../lib/store/artifact-key.js';
import { withSqlite } from '../../support/stores/sqlite.js';
import { until } from '../../support/time/until.js';

const keyOf = (name: string) => hashedKey('Test', name);
const put = (name: string, value: string) => ({ op: 'put', key: keyOf(name), value, expiresAt: Date.now() + 600_000 }) as const;

withSqlite((files) => {
  describe('a file under load', () => {
    test('is copied by another program, whole and as of one instant, while the service writes', async () => {
      const file = files.file();
      const [artifacts, directory] = [sqliteArtifacts({ file }), sqliteDirectory({ file })];
      await artifacts.open();
      await directory.open([{ name: 'rows', indexes: { byName: { fields: ['name'], unique: true } } }]);
      const rows = directory.collection('rows');
      await Promise.all(Array.from({ length: 300 }, (_, index) => artifacts.commit([put(`old ${index}`, 'x'.repeat(5000))])));

      const copy = `${file}-copy`;
      const code = `const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
        const other = new DatabaseSync(${JSON.stringify(file)});
        other.exec("vacuum into '${copy}'");`;
      const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', '-e', code], { stdio: 'inherit' });
      const ended = once(child, 'exit');
      let isCopying = true;
      void ended.then(() => {
        isCopying = false;
      });
      // Both writes of a pair are in one commit, so a copy has both or none.
      let pairs = 0;
      const writing = Array.from({ length: 10 }, async (_, caller) => {
        for (let count = 0; isCopying; count += 1) {
          const name = `${caller}-${count}`;
          await artifacts.commit([put(`a ${name}`, name), put(`b ${name}`, name)]);
          await rows.insert({ id: name, name } as never);
          pairs += 1;
        }
      });
      expect(await ended).toEqual([0, null]);
      await Promise.all(writing);
      expect(pairs).toBeGreaterThan(0);
      await artifacts.close();
      await directory.close();

      const [copied, copiedDirectory] = [sqliteArtifacts({ file: copy }), sqliteDirectory({ file: copy })];
      await copied.open();
      await copiedDirectory.open([{ name: 'rows', indexes: { byName: { fields: ['name'], unique: true } } }]);
      const keys = Array.from({ length: 300 }, (_, index) => ({ key: keyOf(`old ${index}`) }));
      expect((await copied.read(keys)).size).toBe(300);
      for (const { id } of await copiedDirectory.collection('rows').find({})) {
        expect((await copied.read([{ key: keyOf(`a ${id}`) }, { key: keyOf(`b ${id}`) }])).size).toBe(2);
        expect(await copiedDirectory.collection('rows').find({ byName: [id] })).toHaveLength(1);
      }
      await copied.close();
      await copiedDirectory.close();
    });

    test('has a log that begins again, however long the load lasts', async () => {
      const file = files.file();
      const store = sqliteArtifacts({ file });
      await store.open();
      const value = 'x'.repeat(50_000);
      let isLoaded = true;
      let written = 0;
      const load = Array.from({ length: 8 }, async (_, caller) => {
        for (; isLoaded; written += value.length) await store.commit([put(`${caller}`, value)]);
      });
      // Writes many times the pages at which the worker completes a checkpoint itself. A log that never begins again is as long as all
      // writes.
      const size = () => statSync(`${file}-wal`).size;
      await until(() => written > 100_000_000 && (size() < written / 3 || written > 1_500_000_000));
      expect(size()).toBeLessThan(written / 2);
      isLoaded = false;
      await Promise.all(load);
      expect(statSync(file).size).toBeLessThan(10_000_000);
      await store.close();
    });
  });
});
