/** Issue 44: a service over a file is killed under load, again and again: no acknowledged write is lost, and no code is used twice. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { sqliteArtifacts, sqliteDirectory } from 'tenant-idp/adapters/sqlite';
import { hashedKey } from '../../../lib/store/artifact-key.js';
import { withSqlite } from '../../support/stores/sqlite.js';
import type { SqliteNodeTask } from '../../support/stores/sqlite-node.js';

const ROUNDS = process.env.PROVE ? 200 : 3;
const script = fileURLToPath(new URL('../../support/stores/sqlite-node.js', import.meta.url));

interface Service {
  readonly child: ChildProcess;
  /** Lines of the service, until its end. */
  readonly said: string[];
  readonly isOpen: Promise<void>;
  kill(): Promise<void>;
}

function start(task: SqliteNodeTask): Service {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, JSON.stringify(task)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said: string[] = [];
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const isOpen = new Promise<void>((resolve) => lines.on('line', (line) => said.push(line) === 1 && resolve()));
  const isRead = once(lines, 'close');
  return {
    child,
    said,
    isOpen,
    async kill() {
      child.kill('SIGKILL');
      await isRead;
    },
  };
}

/** Returns the names that the service printed after a word. */
const namesOf = (said: readonly string[], word: string) =>
  said.flatMap((line) => (line.startsWith(`${word} `) ? [line.slice(word.length + 1)] : []));

withSqlite((files) => {
  describe('a service that is killed', () => {
    test(`keeps each acknowledged write, and each code is used once (${ROUNDS} rounds)`, async () => {
      const file = files.file();
      let acknowledged = 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        const service = start({ file, round: `${round}`, task: 'write' });
        await service.isOpen;
        await sleep(20 + Math.random() * 200);
        await service.kill();
        expect(service.said[0]).toBe('open');
        acknowledged += service.said.length - 1;
        await expectKept(file, service.said);
      }
      expect(acknowledged).toBeGreaterThan(ROUNDS);
    });
  });

  async function expectKept(file: string, said: readonly string[]): Promise<void> {
    const [artifacts, directory] = [sqliteArtifacts({ file }), sqliteDirectory({ file })];
    await artifacts.open();
    await directory.open([{ name: 'rows', indexes: { byName: { fields: ['name'], unique: true } } }]);
    const [codes, spent, rows] = [namesOf(said, 'code'), namesOf(said, 'spent'), namesOf(said, 'row')];
    expect(new Set(spent).size).toBe(spent.length);
    const kept = await artifacts.read(codes.map((name) => ({ key: hashedKey('Code', name) })));
    expect(codes.filter((name) => kept.get(hashedKey('Code', name))?.value !== name)).toEqual([]);
    const tokens = await artifacts.read(codes.map((name) => ({ key: hashedKey('Token', name) })));
    expect(spent.filter((name) => !tokens.has(hashedKey('Token', name)))).toEqual([]);
    // A code is spent if and only if its token exists, whether or not the service reported it.
    for (const name of codes) {
      const isSpent = kept.get(hashedKey('Code', name))?.consumedAt !== undefined;
      expect({ name, isSpent }).toEqual({ name, isSpent: tokens.has(hashedKey('Token', name)) });
    }
    for (const name of spent.slice(-20)) {
      const again = { op: 'put', key: hashedKey('Code', name), value: 'again', expiresAt: Date.now() + 60_000, if: 'unconsumed' } as const;
      expect(await artifacts.commit([again])).toMatchObject({ ok: false });
    }
    const collection = directory.collection('rows');
    const found = await Promise.all(rows.map((name) => collection.find({ byName: [name] })));
    expect(rows.filter((name, index) => found[index]?.[0]?.id !== name)).toEqual([]);
    await artifacts.close();
    await directory.close();
  }

  describe('a second process', () => {
    test('is refused after ten seconds by name, and has answered that it is well until then', async () => {
      const file = files.file();
      const holder = start({ file, round: '', task: 'hold' });
      await holder.isOpen;
      const store = sqliteArtifacts({ file });
      const began = performance.now();
      const refusal = store.open().catch((error: unknown) => error);
      await store.health();
      expect(await refusal).toMatchObject({
        code: 'store_unfit',
        details: {
          store: 'sqlite',
          file,
          found: 'another process uses the file',
          change: expect.stringContaining('stop the other process'),
        },
      });
      expect(performance.now() - began).toBeGreaterThan(9900);
      await store.close();
      await holder.kill();
    });

    test('starts if the first process ends within ten seconds, however it ends', async () => {
      const file = files.file();
      const holder = start({ file, round: '', task: 'hold' });
      await holder.isOpen;
      const store = sqliteArtifacts({ file });
      const opening = store.open();
      await sleep(500);
      await holder.kill();
      await opening;
      await store.close();
      const next = start({ file, round: '', task: 'hold' });
      await next.isOpen;
      expect(next.said).toEqual(['open']);
      await next.kill();
    });

    test('is not let in while the store that waits for it is closed', async () => {
      const file = files.file();
      const holder = start({ file, round: '', task: 'hold' });
      await holder.isOpen;
      const store = sqliteArtifacts({ file });
      const opening = store.open().catch((error: unknown) => error);
      await store.close();
      expect(await opening).toBeInstanceOf(Error);
      await holder.kill();
    });
  });
});
