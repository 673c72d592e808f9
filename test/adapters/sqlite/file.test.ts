/** Issue 44: the file itself: its permissions, settings, damage, a full disk, a file that cannot be written, and an older Node.js. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { createIdentityProvider, type IdpError } from 'tenant-idp';
import { type SqliteOptions, sqliteArtifacts, sqliteDirectory } from 'tenant-idp/adapters/sqlite';
import { hashedKey } from '../../../lib/store/artifact-key.js';
import type { ArtifactStore } from '../../../lib/store/artifact-store.js';
import { openFile, withSqlite } from '../../support/stores/sqlite.js';
import { until } from '../../support/time/until.js';

const keyOf = (name: string) => hashedKey('Test', name);
const put = (name: string, value = name) => ({ op: 'put', key: keyOf(name), value, expiresAt: Date.now() + 60_000 }) as const;
const adapter = new URL('../../../adapters/sqlite/index.js', import.meta.url).href;

/** Runs a module in its own process. `stores` is the module of the adapter. */
function run(code: string, options: readonly string[] = []) {
  const source = `const stores = await import(${JSON.stringify(adapter)});\n${code}`;
  const child = spawnSync(process.execPath, [...options, '--input-type=module', '-e', source], { encoding: 'utf8', timeout: 60_000 });
  return { output: child.stdout, errors: child.stderr, status: child.status };
}

describe('sqliteArtifacts and sqliteDirectory', () => {
  test('an older Node.js may import the adapter, and gets an error with the version that is needed when a store is made', () => {
    const { output, errors } = run(
      "for (const make of [stores.sqliteArtifacts, stores.sqliteDirectory]) try { make({ file: './idp.db' }) } catch (error) { console.log(JSON.stringify(error)) }",
      process.versions.node.startsWith('20.') ? [] : ['--no-experimental-sqlite'],
    );
    expect(errors).toBe('');
    const lines = output.trim().split('\n');
    expect(lines).toHaveLength(2);
    for (const line of lines) {
      const details = { store: 'sqlite', setting: 'Node.js', expected: '22.13 or later', change: expect.stringContaining('22.13') };
      expect(JSON.parse(line)).toMatchObject({ code: 'store_unfit', details });
    }
  });

  test('refuse what is no path', () => {
    for (const file of [undefined, '', ':memory:', 'file:idp.db', 'a\0b', 5]) {
      for (const make of [sqliteArtifacts, sqliteDirectory]) {
        expect(() => make({ file } as SqliteOptions)).toThrow(/file: expected the path of a file/);
      }
    }
  });
});

withSqlite((files) => {
  const opened: ArtifactStore[] = [];
  afterEach(() => Promise.all(opened.splice(0).map((store) => store.close())));
  const make = (file: string): ArtifactStore => {
    const store = sqliteArtifacts({ file });
    opened.push(store);
    return store;
  };
  /** @returns the error with which a file is refused. */
  const refusalOf = async (file: string): Promise<IdpError> => {
    const error = await make(file)
      .open()
      .then(
        () => undefined,
        (thrown: IdpError) => thrown,
      );
    expect(error).toMatchObject({ code: 'store_unfit', details: { store: 'sqlite', file } });
    return error as IdpError;
  };

  describe('a file', () => {
    test('is created for its owner alone, with its log and its lock', async () => {
      const file = files.file();
      await make(file).open();
      for (const end of ['', '-wal', '-shm', '-lock']) expect([end, statSync(file + end).mode & 0o777]).toEqual([end, 0o600]);
    });

    test('keeps the mode that its owner gave it', async () => {
      const file = files.file();
      writeFileSync(file, '', { mode: 0o640 });
      chmodSync(file, 0o640);
      await make(file).open();
      for (const end of ['', '-wal']) expect(statSync(file + end).mode & 0o777).toBe(0o640);
    });

    test('has its log on the disk at each commit, and is alone when the last store is closed', async () => {
      const file = files.file();
      const store = make(file);
      await store.open();
      await store.commit([put('a')]);
      const other = openFile(file);
      expect(other.prepare('pragma journal_mode').get()).toEqual({ journal_mode: 'wal' });
      other.close();
      await store.close();
      expect(readdirSync(files.folder).filter((name) => `${files.folder}/${name}`.startsWith(file))).toEqual([
        file.slice(files.folder.length + 1),
        `${file.slice(files.folder.length + 1)}-lock`,
      ]);
    });

    test('of another encoding is refused', async () => {
      const file = files.file();
      const other = openFile(file);
      other.exec("pragma encoding = 'UTF-16le'; create table hosts (a)");
      other.close();
      expect((await refusalOf(file)).details).toMatchObject({ setting: 'encoding', found: 'UTF-16le', expected: 'UTF-8' });
    });

    test('that is no database, is damaged, or has no folder is refused, with what to do', async () => {
      const text = files.file();
      writeFileSync(text, 'no database '.repeat(1000));
      expect((await refusalOf(text)).details).toMatchObject({ found: 'file is not a database', change: expect.stringContaining('backup') });
      const absent = `${files.folder}/absent/idp.db`;
      expect((await refusalOf(absent)).details).toMatchObject({ change: expect.stringContaining('create the folder') });
      expect((await refusalOf(files.folder)).details).toMatchObject({ change: expect.stringContaining('folder') });
    });

    test('that is damaged while it is closed is an error with what to do, and not an empty answer', async () => {
      const file = files.file();
      const store = make(file);
      await store.open();
      for (let index = 0; index < 20; index += 1) await store.commit([put(`${index}`, 'x'.repeat(20_000))]);
      await store.close();
      truncateSync(file, 8192);
      const again = make(file);
      const outcome = await again
        .open()
        .then(
          () => again.read(Array.from({ length: 20 }, (_, index) => ({ key: keyOf(`${index}`) }))),
          (error: IdpError) => Promise.reject(new Error(JSON.stringify(error.details))),
        )
        .catch((error: Error) => error.message);
      expect(outcome).toMatch(/malformed.*restore the last backup/);
    });

    const isRoot = process.getuid?.() === 0;
    const unprivileged = isRoot ? test.skip : test;
    unprivileged('that its user may not write is refused, with what to do (not as root, who may write everything)', async () => {
      const folder = `${files.folder}/read-only`;
      mkdirSync(folder);
      const file = `${folder}/idp.db`;
      writeFileSync(file, '');
      chmodSync(file, 0o444);
      chmodSync(folder, 0o555);
      expect((await refusalOf(file)).details).toMatchObject({ change: expect.stringContaining("the service's user") });
    });

    test('that is moved while the service runs is an outage, until it is back; no empty file takes its place', async () => {
      const file = files.file();
      const store = make(file);
      await store.open();
      await store.commit([put('a')]);
      await sleep(1500); // the second thread has opened the file
      renameSync(file, `${file}-moved`);
      await until(async () =>
        /moved or removed|ENOENT/.test(
          await store.health().then(
            () => '',
            (error: Error) => error.message,
          ),
        ),
      );
      writeFileSync(file, '');
      await expect(store.read([{ key: keyOf('a') }])).rejects.toThrow(
        /an empty file, in the place of a file that was used before: .*put the file back/,
      );
      renameSync(`${file}-moved`, file);
      expect((await store.read([{ key: keyOf('a') }])).size).toBe(1);
      await store.commit([put('b')]);
    });

    test('that is empty beside the log of another is refused, because SQLite would remove the log', async () => {
      const file = files.file();
      writeFileSync(file, '');
      writeFileSync(`${file}-wal`, 'acknowledged writes');
      expect((await refusalOf(file)).details).toMatchObject({ change: expect.stringContaining('put the file back') });
      expect(statSync(`${file}-wal`).size).toBe(19);
    });

    test('whose lock is removed while the service runs is locked again, because a second process could start', async () => {
      const file = files.file();
      const store = make(file);
      await store.open();
      rmSync(`${file}-lock`);
      await until(async () => {
        await store.health().catch(() => {});
        return existsSync(`${file}-lock`);
      });
      await store.commit([put('a')]);
      const other = openFile(`${file}-lock`);
      expect(() => other.exec('begin exclusive')).toThrow('database is locked');
      other.close();
    });

    test('whose log is removed while the service runs loses no acknowledged write when the process is killed', async () => {
      const file = files.file();
      const { output } = run(
        `const { existsSync, rmSync } = await import('node:fs');
         const store = stores.sqliteArtifacts({ file: ${JSON.stringify(file)} });
         const write = (key) => store.commit([{ op: 'put', key, value: key, expiresAt: Date.now() + 60_000 }]);
         await store.open();
         await new Promise((resolve) => setTimeout(resolve, 1500)); // the second thread has opened the file
         rmSync(${JSON.stringify(`${file}-wal`)});
         await write(${JSON.stringify(keyOf('a'))});
         for (let tries = 0; tries < 200 && !existsSync(${JSON.stringify(`${file}-wal`)}); tries += 1) {
           await new Promise((resolve) => setTimeout(resolve, 50));
           await store.health().catch(() => {});
         }
         await write(${JSON.stringify(keyOf('b'))});
         console.log('acknowledged');
         process.kill(process.pid, 'SIGKILL');`,
      );
      expect(output).toBe('acknowledged\n');
      const store = make(file);
      await store.open();
      expect((await store.read([{ key: keyOf('a') }, { key: keyOf('b') }])).size).toBe(2);
    });

    test('with a second name is refused, because a process would use another log and another lock under that name', async () => {
      const file = files.file();
      const store = make(file);
      await store.open();
      linkSync(file, `${file}-linked`);
      expect((await refusalOf(`${file}-linked`)).details).toMatchObject({ found: '2 hard links', change: expect.stringContaining('copy') });
      await store.commit([put('a')]);
    });

    test('warns of nothing, although node:sqlite is experimental', () => {
      const { output, errors } = run(
        `const options = { file: ${JSON.stringify(files.file())} };
         const [artifacts, directory] = [stores.sqliteArtifacts(options), stores.sqliteDirectory(options)];
         await artifacts.open();
         await directory.open([]);
         process.emitWarning('of the host');
         await artifacts.close();
         await directory.close();
         console.log('done');`,
      );
      expect(output).toBe('done\n');
      expect(errors.split('\n').filter((line) => line.includes('Warning'))).toEqual([expect.stringContaining('of the host')]);
    });

    test('does not keep a process running that has no calls', () => {
      const { output, status } = run(
        `const store = stores.sqliteArtifacts({ file: ${JSON.stringify(files.file())} });
         await store.open();
         await store.listByAccount(Symbol('no plain data')).catch(({ message }) => console.log(message));`,
      );
      expect({ output, status }).toEqual({ output: 'Symbol(no plain data) could not be cloned.\n', status: 0 });
    });
  });

  describe('a disk', () => {
    const mount = (...args: readonly string[]) => spawnSync('mount', args).status === 0;
    const folder = `${files.folder}/small`;
    mkdirSync(folder);
    const isMounted = mount('-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder);
    afterAll(() => void (isMounted && spawnSync('umount', ['--lazy', folder])));
    const mounted = isMounted ? test : test.skip;
    const file = `${folder}/idp.db`;

    mounted(
      'that is full refuses writes with what to do, keeps what it has, and serves again with more space (needs root, to mount a disk)',
      async () => {
        const store = make(file);
        await store.open();
        let written = 0;
        const fill = async (): Promise<unknown> => {
          for (; ; written += 1) await store.commit([put(`${written}`, 'x'.repeat(50_000))]);
        };
        await expect(fill()).rejects.toThrow(/database or disk is full: .*To fix it, free space on the disk\.$/);
        expect(written).toBeGreaterThan(3);
        const all = Array.from({ length: written }, (_, index) => ({ key: keyOf(`${index}`) }));
        expect((await store.read(all)).size).toBe(written);
        mount('-o', 'remount,size=20m', folder);
        await store.commit([put('after', 'x'.repeat(50_000))]);
        expect((await store.read([...all, { key: keyOf('after') }])).size).toBe(written + 1);
      },
    );

    mounted('that takes no writes is refused, with what to do (needs root, to mount a disk)', async () => {
      const store = make(file);
      await store.open();
      await store.close();
      await until(() => mount('-o', 'remount,ro', folder));
      expect((await refusalOf(file)).details).toMatchObject({ change: expect.stringContaining("the service's user") });
    });
  });

  describe('a service', () => {
    test('whose file is in use by name of another path of the process starts, because both stores share the file', async () => {
      const file = files.file();
      const stores = { artifacts: sqliteArtifacts({ file }), directory: sqliteDirectory({ file: pathToFileURL(file).pathname }) };
      const logger = { debug() {}, info() {}, warn() {}, error() {} };
      const idp = await createIdentityProvider({ issuer: 'http://localhost:3000', ...stores, logger });
      expect(await idp.health()).toMatchObject({ status: 'up', artifacts: 'up', directory: 'up' });
      await idp.close();
      copyFileSync(file, `${file}-copy`);
      const copy = make(`${file}-copy`);
      await copy.open();
    });
  });
});
