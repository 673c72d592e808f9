import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { UnavailableError } from '../../lib/errors.js';
import { type Caches, type CachesOptions, createCaches } from '../../lib/store/caches/cache.js';
import type { Collection, DirectoryStore, Row } from '../../lib/store/directory-store.js';
import { createCheckedDirectory } from '../../lib/store/records/checked-directory.js';
import type { ChangeRecord } from '../../lib/store/records/records.js';
import { silentLogger } from '../support/service/test-directory.js';
import { until } from '../support/time/until.js';
import { observed } from './observed-directory.js';
import { withCollections } from './with-collections.js';

interface Named extends Row {
  readonly name: string;
}

/** Returns a load that ends when the test resolves it. */
function withResolvers() {
  let resolve: (value: { name: string }) => void = () => {};
  const promise = new Promise<{ name: string }>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

describe('design §4: caches fed by the change feed', () => {
  const open: Caches[] = [];
  const logged: string[] = [];
  const logger = {
    info: (_fields: object, message: string) => void logged.push(`info ${message}`),
    warn: (_fields: object, message: string) => void logged.push(`warn ${message}`),
    error: (_fields: object, message: string) => void logged.push(`error ${message}`),
  };
  let memory: DirectoryStore;
  let books: Collection<Named>;

  const node = (options: Partial<CachesOptions> = {}, directory = memory): Caches => {
    const caches = createCaches(createCheckedDirectory(directory, { logger: silentLogger, now: Date.now }), {
      now: Date.now,
      pollInterval: 10,
      logger,
      ...options,
    });
    open.push(caches);
    return caches;
  };
  const rename = (name: string) => books.put({ id: 'a', name });

  beforeEach(async () => {
    memory = memoryDirectory();
    await memory.open(['books', 'shelves', 'changes'].map((name) => ({ name, indexes: {} })));
    books = memory.collection<Named>('books');
    await rename('first');
  });

  afterEach(async () => {
    for (const caches of open.splice(0)) await caches.close();
    logged.length = 0;
  });

  test('a row is read once, however many ask for it and at the same time', async () => {
    const { directory, state } = observed(memory);
    const caches = node({}, directory);
    const rows = await Promise.all(Array.from({ length: 50 }, () => caches.rows<Named>('books').get('a')));
    expect(new Set(rows)).toEqual(new Set([await books.get('a')]));
    await caches.rows('books').get('a');
    expect(state.reads).toBe(1);
  });

  test('a write is seen at once where it was made', async () => {
    const caches = node();
    const cached = caches.rows<Named>('books');
    expect((await cached.get('a'))?.name).toBe('first');
    await rename('second');
    const told = caches.changed('books', 'a');
    expect((await cached.get('a'))?.name).toBe('second');
    await told;
  });

  test('a write is seen on another node by its next look', async () => {
    const [here, there] = [node(), node()];
    const cached = there.rows<Named>('books');
    for (const name of ['second', 'third']) {
      await cached.get('a');
      await rename(name);
      await here.changed('books', 'a');
      await until(async () => (await cached.get('a'))?.name === name);
    }
  });

  test('only the caches of what changed are cleared, with all that were made of it', async () => {
    const caches = node({ pollInterval: 60_000 });
    const loads: string[] = [];
    const over = (name: string, ...collections: string[]) =>
      caches.over(collections, async (key) => {
        loads.push(name);
        return { key };
      });
    const all = [over('shelves', 'shelves'), over('both', 'shelves', 'books'), over('books', 'books')];
    const getAll = () => Promise.all(all.map((cache) => cache.get('a')));
    await getAll();
    await caches.changed('shelves', 'a');
    loads.length = 0;
    await getAll();
    expect(loads).toEqual(['shelves', 'both']);
  });

  test('a load that was under way when the collection changed answers its caller and is not kept', async () => {
    const caches = node({ pollInterval: 60_000 });
    const loads: ReturnType<typeof withResolvers>[] = [];
    const cached = caches.over(['books'], () => {
      const load = withResolvers();
      loads.push(load);
      return load.promise;
    });
    const early = cached.get('a');
    await caches.changed('books', 'a');
    const late = cached.get('a');
    expect(loads.length).toBe(2);
    loads[1]!.resolve({ name: 'second' });
    expect(await late).toEqual({ name: 'second' });
    loads[0]!.resolve({ name: 'first' });
    expect(await early).toEqual({ name: 'first' });
    expect(await cached.get('a')).toEqual({ name: 'second' });
    expect(loads.length).toBe(2);
  });

  test('the same holds for a load that ends after the change and before anybody asks again', async () => {
    const caches = node({ pollInterval: 60_000 });
    const load = withResolvers();
    const loads = [load.promise, Promise.resolve({ name: 'second' })];
    const cached = caches.over(['books'], async () => loads.shift());
    const early = cached.get('a');
    await caches.changed('books', 'a');
    load.resolve({ name: 'first' });
    await early;
    expect(await cached.get('a')).toEqual({ name: 'second' });
  });

  test('what is absent is remembered shortly, seen at once when it comes, and pushes nothing out', async () => {
    const { directory, state } = observed(memory);
    const caches = node({ max: 1, pollInterval: 60_000 }, directory);
    const cached = caches.rows<Named>('books');
    await cached.get('a');
    expect(await cached.get('b')).toBeUndefined();
    expect(await cached.get('b')).toBeUndefined();
    await cached.get('a');
    expect(state.reads).toBe(2);
    await books.put({ id: 'b', name: 'new' });
    await caches.changed('books', 'b');
    expect((await cached.get('b'))?.name).toBe('new');
  });

  test('no more values are kept than the limit says, and none longer', async () => {
    let loads = 0;
    const load = async (key: string) => {
      loads += 1;
      return { key };
    };
    const small = node({ max: 2 }).over(['books'], load);
    for (const key of ['a', 'b', 'c', 'c', 'b', 'a']) await small.get(key);
    expect(loads).toBe(4);
    loads = 0;
    const brief = node({ ttl: 10 }).over(['books'], load);
    await brief.get('a');
    await until(async () => (await brief.get('a')) !== undefined && loads > 1);
  });

  test('a load that fails fails for all who share it, and is tried again', async () => {
    let loads = 0;
    const cached = node().over(['books'], async () => {
      loads += 1;
      if (loads === 1) throw new Error('connection refused');
      return { name: 'first' };
    });
    const results = await Promise.allSettled([cached.get('a'), cached.get('a')]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await cached.get('a')).toEqual({ name: 'first' });
    expect(loads).toBe(2);
  });

  test('each change of each node counts, the first ones at the same time too', async () => {
    const nodes = [node(), node(), node()];
    await Promise.all(nodes.flatMap((each) => ['books', 'shelves', 'books'].map((name) => each.changed(name, 'a'))));
    // The notices of a node that come at the same time share an entry.
    const entries = await memory.collection<ChangeRecord>('changes').find({});
    const books = { collection: 'books', ids: ['a'] };
    const shelves = { collection: 'shelves', ids: ['a'] };
    expect(entries.map(({ writes }) => writes)).toEqual(nodes.map(() => [books, shelves]));
  });

  test('a store that is down is logged once for each outage, and what changed meanwhile is seen after it', async () => {
    const { directory, state } = observed(memory);
    const [there, here] = [node({}, directory), node()];
    const cached = there.rows<Named>('books');
    await cached.get('a');
    for (const name of ['second', 'third']) {
      logged.length = 0;
      state.isDown = true;
      const looks = state.looks;
      await rename(name);
      await here.changed('books', 'a');
      await until(() => state.looks > looks + 4);
      expect(logged).toEqual([expect.stringMatching(/^warn .*the change feed is unavailable/)]);
      state.isDown = false;
      await until(async () => (await cached.get('a'))?.name === name);
      await until(() => logged.length > 1);
      expect(logged.slice(1)).toEqual([expect.stringMatching(/^info .*the change feed is available again/)]);
    }
  });

  test.each(['insert', 'put', 'update', 'remove'] as const)(
    '%s of which nobody knows the outcome is seen at once, and on other nodes',
    async (method) => {
      const store = withCollections(memory, (rows, name) => {
        if (name !== 'books') return {};
        const lost = <Outcome>(write: Promise<Outcome>) =>
          write.then((): Outcome => {
            throw new UnavailableError('store_unavailable', { store: 'memory' }, { cause: new Error('No answer') });
          });
        return {
          insert: (row) => lost(rows.insert(row)),
          put: (row) => lost(rows.put(row)),
          update: (id, change) => lost(rows.update(id, change)),
          remove: (id) => lost(rows.remove(id)),
        };
      });
      const checked = createCheckedDirectory(store, { logger: silentLogger, now: Date.now });
      const here = createCaches(checked, { now: Date.now, pollInterval: 10, logger });
      open.push(here);
      const [cachedHere, cachedThere] = [here, node()].map((caches) => caches.rows<Named>('books'));
      const id = method === 'insert' ? 'b' : 'a';
      const before = [await cachedHere?.get(id), await cachedThere?.get(id)];
      expect(before.map((row) => row?.name)).toEqual(method === 'insert' ? [undefined, undefined] : ['first', 'first']);
      const written = checked.collection<Named>('books');
      const writes = {
        insert: () => written.insert({ id, name: 'second' }),
        put: () => written.put({ id, name: 'second' }),
        update: () => written.update(id, (row) => ({ ...row, name: 'second' })),
        remove: () => written.remove(id),
      };
      await expect(writes[method]()).rejects.toMatchObject({ code: 'store_unavailable' });
      const after = method === 'remove' ? undefined : 'second';
      expect((await cachedHere?.get(id))?.name).toBe(after);
      await until(async () => (await cachedThere?.get(id))?.name === after);
    },
  );

  test('a change that could not be told is told when the store is back', async () => {
    const { directory, state } = observed(memory);
    const [here, there] = [node({}, directory), node()];
    const cached = there.rows<Named>('books');
    await cached.get('a');
    state.isDown = true;
    await rename('second');
    await here.changed('books', 'a');
    expect((await cached.get('a'))?.name).toBe('first');
    state.isDown = false;
    await until(async () => (await cached.get('a'))?.name === 'second');
  });

  test('close ends the looking', async () => {
    const { directory, state } = observed(memory);
    const caches = node({}, directory);
    await until(() => state.looks > 1);
    await caches.close();
    await sleep(20);
    const looks = state.looks;
    await sleep(50);
    expect(state.looks).toBe(looks);
  });
});
