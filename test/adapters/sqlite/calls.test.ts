/** Issue 44: concurrent calls of a file: shared transactions, peers, a close, a worker that crashes, and rows of another program. */
import { symlinkSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { sqliteArtifacts, sqliteDirectory } from 'tenant-idp/adapters/sqlite';
import type { Connection } from '../../../adapters/sqlite/worker/node-sqlite.js';
import { hashedKey } from '../../../lib/store/artifact-key.js';
import type { ArtifactStore } from '../../../lib/store/artifact-store.js';
import type { Collection, CollectionSpec, DirectoryStore, Row } from '../../../lib/store/directory-store.js';
import { openFile, withSqlite } from '../../support/stores/sqlite.js';
import { until } from '../../support/time/until.js';

interface Named extends Row {
  readonly name?: string;
  readonly tags?: readonly string[];
}

const rowsSpec = {
  name: 'rows',
  indexes: { byName: { fields: ['name'], unique: true }, byTag: { fields: ['tags'] }, inOrder: { fields: ['name'], order: 'text' } },
} as const satisfies CollectionSpec;

const keyOf = (name: string) => hashedKey('Test', name);
const put = (name: string, more: object = {}) =>
  ({ op: 'put', key: keyOf(name), value: name, expiresAt: Date.now() + 60_000, ...more }) as const;

withSqlite((files) => {
  const workers: Worker[] = [];
  const keep = (worker: Worker) => void workers.push(worker);
  let file = '';
  let artifacts: ArtifactStore;
  let directory: DirectoryStore;
  let rows: Collection<Named>;
  let other: Connection;

  async function open(): Promise<void> {
    artifacts = sqliteArtifacts({ file });
    directory = sqliteDirectory({ file });
    await Promise.all([artifacts.open(), directory.open([rowsSpec])]);
    rows = directory.collection<Named>('rows');
  }
  const close = () => Promise.all([artifacts.close(), directory.close()]);

  beforeEach(async () => {
    workers.length = 0;
    process.on('worker', keep);
    file = files.file();
    await open();
    other = openFile(file);
  });
  afterEach(async () => {
    process.off('worker', keep);
    other.close();
    await close();
  });

  const outcomeOf = (call: Promise<unknown>) =>
    call.then(
      () => 'done',
      (error: { code?: string; message: string }) => error.code ?? error.message,
    );

  describe('calls that share a transaction', () => {
    test('a call that is refused undoes its own writes alone', async () => {
      await rows.insert({ id: 'first', name: 'taken' });
      const outcomes = await Promise.all([
        outcomeOf(rows.insert({ id: 'a', name: 'a' })),
        outcomeOf(rows.insert({ id: 'b', name: 'taken', tags: ['of b'] })),
        outcomeOf(artifacts.commit([put('one')])),
        outcomeOf(rows.insert({ id: 'c', name: ['x', 'y'] as never, tags: ['of c', 'of c too'] })),
        outcomeOf(rows.insert({ id: 'd', name: 'd' })),
      ]);
      expect(outcomes).toEqual(['done', 'conflict', 'done', expect.stringContaining('array'), 'done']);
      await close();
      await open();
      expect((await rows.find({})).map(({ id }) => id)).toEqual(['a', 'd', 'first']);
      expect(await rows.find({ byTag: ['of b'] })).toEqual([]);
      expect((await artifacts.read([{ key: keyOf('one') }])).size).toBe(1);
      expect(other.prepare('select count(*) as n from idp_entries').get()).toEqual({ n: 6 });
    });

    test('a commit that loses writes nothing, and the calls around it are done', async () => {
      const outcomes = await Promise.all([
        artifacts.commit([put('a'), put('b', { if: 'absent' })]),
        artifacts.commit([put('c'), put('b', { if: 'absent' })]),
        artifacts.commit([put('d')]),
      ]);
      expect(outcomes).toEqual([{ ok: true }, { ok: false, lost: keyOf('b') }, { ok: true }]);
      expect(
        [...(await artifacts.read(['a', 'b', 'c', 'd'].map((name) => ({ key: keyOf(name) })))).values()].map(({ value }) => value),
      ).toEqual(['a', 'b', 'd']);
    });

    test('many calls share few transactions', async () => {
      const pages = () => Number(other.prepare('pragma wal_checkpoint(passive)').get()?.log);
      const before = pages();
      await Promise.all(Array.from({ length: 150 }, (_, index) => artifacts.hit(keyOf('counter'), 60_000 + index)));
      const together = pages() - before;
      for (let index = 0; index < 20; index += 1) await artifacts.hit(keyOf('counter'), 60_000);
      const alone = pages() - before - together;
      // Each transaction writes the page of the counter again.
      expect(together).toBeLessThan(alone);
    });
  });

  describe('the stores of a process', () => {
    test('share one worker for one file, by whatever path', async () => {
      expect(workers).toHaveLength(1);
      symlinkSync(file, `${file}-link`);
      const third = sqliteArtifacts({ file: `${file}-link` });
      await third.open();
      await artifacts.commit([put('a')]);
      expect((await third.read([{ key: keyOf('a') }])).size).toBe(1);
      await third.close();
      expect(workers).toHaveLength(1);
    });

    test('over two files are apart', async () => {
      const second = sqliteArtifacts({ file: files.file() });
      await second.open();
      expect(workers).toHaveLength(2);
      await artifacts.commit([put('a')]);
      expect((await second.read([{ key: keyOf('a') }])).size).toBe(0);
      await second.close();
      expect((await artifacts.read([{ key: keyOf('a') }])).size).toBe(1);
    });

    test('a close makes the calls before it, and refuses those after it', async () => {
      const calls = Array.from({ length: 50 }, (_, index) => artifacts.commit([put(`${index}`)]));
      const closing = close();
      await expect(artifacts.commit([put('late')])).rejects.toThrow('The store was closed.');
      expect(await Promise.all(calls)).toEqual(calls.map(() => ({ ok: true })));
      await closing;
      await open();
      expect((await artifacts.read(calls.map((_, index) => ({ key: keyOf(`${index}`) })))).size).toBe(50);
    });

    test('a worker that crashes is an outage: its calls are rejected, and the next call starts another', async () => {
      await artifacts.commit([put('kept')]);
      const calls = Array.from({ length: 20 }, (_, index) => outcomeOf(artifacts.commit([put(`${index}`)])));
      await workers[0]?.terminate();
      const outcomes = await Promise.all(calls);
      expect(outcomes.filter((outcome) => outcome !== 'done' && !outcome.includes('worker thread'))).toEqual([]);
      expect((await artifacts.read([{ key: keyOf('kept') }])).size).toBe(1);
      await rows.insert({ id: 'a', name: 'a' });
      expect(workers).toHaveLength(2);
      // Acknowledged calls are in the file.
      const acknowledged = outcomes.flatMap((outcome, index) => (outcome === 'done' ? [{ key: keyOf(`${index}`) }] : []));
      expect((await artifacts.read(acknowledged)).size).toBe(acknowledged.length);
    });
  });

  describe('rows and entries', () => {
    test('an index that is declared later is filled, in pages, while calls go on', async () => {
      await Promise.all(
        Array.from({ length: 950 }, (_, index) => rows.insert({ id: `r${index}`, name: `n${index}`, tags: [`t${index % 7}`] })),
      );
      const indexes = { ...rowsSpec.indexes, byTagAndName: { fields: ['tags', 'name'] } };
      const opening = directory.open([{ name: 'rows', indexes }]);
      const during = await Promise.all([
        rows.update('r949', (row) => ({ ...row, tags: ['moved'] })),
        rows.insert({ id: 'new', name: 'new', tags: ['moved'] }),
        rows.remove('r0'),
      ]);
      await opening;
      expect(during).toHaveLength(3);
      const found = directory.collection<Named>('rows');
      expect(await found.find({ byTagAndName: ['moved', 'n949'] })).toHaveLength(1);
      expect(await found.find({ byTagAndName: ['moved', 'new'] })).toHaveLength(1);
      expect(await found.find({ byTagAndName: ['t0', 'n0'] })).toEqual([]);
      const entries = other.prepare(
        "select count(*) as n from idp_entries where index_id = (select id from idp_indexes where name = 'byTagAndName')",
      );
      expect(entries.get()).toEqual({ n: 950 });
    });

    test('an index over rows with the same unique value is refused, and leaves nothing', async () => {
      await rows.insert({ id: 'a', tags: ['same'] });
      await rows.insert({ id: 'b', tags: ['same'] });
      const unique = { name: 'rows', indexes: { ...rowsSpec.indexes, byOneTag: { fields: ['tags'], unique: true } } };
      await expect(directory.open([unique])).rejects.toMatchObject({ code: 'conflict', details: { collection: 'rows' } });
      await rows.insert({ id: 'c', tags: ['same'] });
      expect(other.prepare("select count(*) as n from idp_indexes where name = 'byOneTag'").get()).toEqual({ n: 0 });
    });

    test('an index of the same name over other fields is refused', async () => {
      const changed = { name: 'rows', indexes: { byName: { fields: ['tags'] } } };
      await expect(directory.open([changed])).rejects.toMatchObject({ code: 'store_unfit', details: { setting: 'index byName of rows' } });
    });

    test('an index that a killed process left without entries is filled at the next start', async () => {
      await rows.insert({ id: 'a', name: 'a' });
      other.exec('delete from idp_entries; update idp_indexes set is_complete = 0');
      expect(await rows.find({ byName: ['a'] })).toEqual([]);
      await close();
      await open();
      expect(await rows.find({ byName: ['a'] })).toHaveLength(1);
    });

    test('all rows are found, however many', async () => {
      const ids = Array.from({ length: 1201 }, (_, index) => `r${String(index).padStart(4, '0')}`);
      await Promise.all(ids.map((id) => rows.insert({ id, tags: ['t'] })));
      expect((await rows.find({ byTag: ['t'] })).map(({ id }) => id)).toEqual(ids);
      expect((await rows.find({}, { limit: 700, after: 'r0009' })).map(({ id }) => id)).toEqual(ids.slice(10, 710));
    });

    test('a look-up and a range are read along the index', () => {
      const along = 'from idp_entries e cross join idp_rows r on r.collection = ? and r.id = e.id where e.index_id = ?';
      for (const rest of [
        'and e.key = ? and e.id > ? order by e.id limit ?',
        'and (e.key, e.id) > (?, ?) and e.key < ? order by e.key, e.id limit ?',
        'and (e.key, e.id) < (?, ?) and e.key >= ? order by e.key desc, e.id desc limit ?',
      ]) {
        const plan = other
          .prepare(`explain query plan select r.row ${along} ${rest}`)
          .all('rows', 1, 'k', 'i', 'z')
          .map(({ detail }) => detail);
        expect(plan).toEqual([
          expect.stringMatching(/^SEARCH e USING PRIMARY KEY \(index_id=\? AND /),
          expect.stringMatching(/^SEARCH r USING INDEX/),
        ]);
      }
    });
  });

  describe('a row that another program wrote', () => {
    test('M: is unreadable if it is no JSON, can be removed, and leaves its unique values', async () => {
      await rows.insert({ id: 'a', name: 'alice', tags: ['t'] });
      other.exec("update idp_rows set row = 'no JSON' where id = 'a'");
      expect(await rows.get('a')).toEqual({ id: 'a', version: 1, unreadable: 'no JSON' });
      await expect(rows.insert({ id: 'b', name: 'alice' })).rejects.toMatchObject({ code: 'conflict' });
      expect(await rows.remove('a')).toBe(true);
      await rows.insert({ id: 'b', name: 'alice' });
      expect(await rows.find({ byTag: ['t'] })).toEqual([]);
      expect(await rows.find({ byName: ['alice'] })).toHaveLength(1);
    });

    test('M: is replaced by the next write of the service', async () => {
      await rows.insert({ id: 'a', name: 'alice' });
      other.exec("update idp_rows set row = 'no JSON' where id = 'a'");
      await rows.put({ id: 'a', name: 'alicia' });
      expect(await rows.find({ byName: ['alice'] })).toEqual([]);
      expect((await rows.find({ byName: ['alicia'] }))[0]).toMatchObject({ id: 'a', version: 2 });
    });

    test('M: does not keep a unique value that it has no more', async () => {
      await rows.insert({ id: 'a', name: 'alice' });
      await rows.insert({ id: 'b', name: 'bob' });
      other.exec(`update idp_rows set row = '{"id":"a","name":"other"}' where id = 'a'; delete from idp_rows where id = 'b'`);
      await rows.insert({ id: 'c', name: 'alice' });
      await rows.insert({ id: 'd', name: 'bob' });
      expect((await rows.find({ byName: ['alice'] })).map(({ id }) => id)).toEqual(['c']);
    });

    test('M: of another type is refused by the file', () => {
      for (const values of [
        "('rows', 'x', 0, '{}')",
        "('rows', 'x', 9007199254740993, '{}')",
        "('rows', x'00', 1, '{}')",
        "('rows', 'x', 1, null)",
      ]) {
        expect(() => other.exec(`insert into idp_rows values ${values}`)).toThrow(/constraint|cannot store/);
      }
    });
  });

  describe('records that expire', () => {
    test('J3: are removed from the file', async () => {
      const soon = Date.now() + 50;
      await artifacts.commit(Array.from({ length: 500 }, (_, index) => put(`${index}`, { expiresAt: soon })));
      await artifacts.commit([put('stays'), { op: 'remove', key: keyOf('removed'), until: soon }]);
      await artifacts.hit(keyOf('counter'), 50);
      await artifacts.lease('lease', 'me', 50);
      const left = other.prepare(
        'select (select count(*) from idp_artifacts) + (select count(*) from idp_counters) + (select count(*) from idp_leases) as n',
      );
      await until(() => left.get()?.n === 1);
    });

    test('a value, an account and a lease of any characters are kept as they were', async () => {
      const odd = ['\0', 'a\0b', '\ud800', '\u0001x'];
      await artifacts.commit(odd.map((value, index) => put(`${index}`, { value, account: value, links: { [value]: keyOf('x') } })));
      for (const [index, value] of odd.entries()) {
        const expected = [expect.objectContaining({ key: keyOf(`${index}`), value, account: value, links: { [value]: keyOf('x') } })];
        expect(await artifacts.listByAccount(value)).toEqual(expected);
        expect(await artifacts.lease(value, 'me', 60_000)).toBe(true);
        expect(await artifacts.lease(value, 'you', 60_000)).toBe(false);
      }
    });
  });
});
