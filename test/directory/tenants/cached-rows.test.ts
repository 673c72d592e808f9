/** Rows of extensions that a node caches: until any node writes one, and only in collections that declare it. */
import { afterEach, expect, test } from '@jest/globals';
import { Type } from '@sinclair/typebox';
import { memoryDirectory } from '../../../adapters/memory/index.js';
import { createExtensionData, specOf } from '../../../lib/directory/index.js';
import { UnavailableError } from '../../../lib/errors.js';
import { createCaches } from '../../../lib/store/caches/cache.js';
import { createCheckedDirectory } from '../../../lib/store/records/checked-directory.js';
import { collections } from '../../../lib/store/records/collections.js';
import { withCollections } from '../../store/with-collections.js';
import { silentLogger } from '../../support/service/test-directory.js';
import { until } from '../../support/time/until.js';

const row = Type.Object({ shelf: Type.String() });
const books = { name: 'library.books', row, indexes: { byShelf: { fields: ['shelf'] } }, cached: true };
const visits = { name: 'library.visits', row };

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Creates two nodes over one store, and records which reads of books reach the store. */
async function twoNodes({ ttl = 50 } = {}) {
  const shared = memoryDirectory();
  await shared.open([...Object.values(collections), specOf(books as never), specOf(visits as never)]);
  const state = { reads: 0, isAway: false };
  const asked = (name: string) => {
    if (name !== books.name) return;
    state.reads += 1;
    if (state.isAway) throw new UnavailableError('store_unavailable', { store: 'memory' }, { cause: new Error('away') });
  };
  const store = withCollections(shared, (rows, name) => ({
    async get(id) {
      asked(name);
      return rows.get(id);
    },
    async find(where, page) {
      asked(name);
      return rows.find(where, page);
    },
  }));
  const node = () => {
    const checked = createCheckedDirectory(store, { logger: silentLogger, now: Date.now });
    const caches = createCaches(checked, { now: Date.now, logger: silentLogger, pollInterval: 5, ttl });
    closing.push(() => caches.close());
    return createExtensionData({ store: checked, caches, collections: [books, visits] as never, events: new Set(), now: Date.now });
  };
  return { nodes: [node(), node()] as const, state };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until a node has seen its own write in the change feed, which clears the cache once more. */
const ownWriteSeen = (read: () => unknown) =>
  until(async () => {
    await read();
    await pause(20);
    return !(read() instanceof Promise);
  });

test('rows are read once, by id and by index, until a node writes one', async () => {
  const { nodes, state } = await twoNodes({ ttl: 60_000 });
  const [one, other] = nodes;
  await one.rows(books, 'acme').insert({ shelf: 'a' }, { id: 'first' });
  const cached = one.cached(books, 'byShelf');
  await ownWriteSeen(() => cached.get('first'));
  expect(await Promise.all([cached.get('first'), cached.get('first')])).toEqual(Array(2).fill(expect.objectContaining({ shelf: 'a' })));
  expect((await cached.findAll('acme', ['a'])).rows.map(({ id }) => id)).toEqual(['first']);
  expect((await cached.findAll('globex', ['a'])).rows).toEqual([]);
  const { reads } = state;
  // A cached result is no promise.
  expect(cached.get('first')).toMatchObject({ shelf: 'a' });
  expect(cached.findAll('acme', ['a'])).toMatchObject({ rows: [{ id: 'first' }] });
  expect(state.reads).toBe(reads);
  await one.rows(books, 'acme').update('first', () => ({ shelf: 'b' }));
  expect(await cached.get('first')).toMatchObject({ shelf: 'b' });
  await other.rows(books, 'acme').update('first', () => ({ shelf: 'c' }));
  await until(async () => (await cached.get('first'))?.shelf === 'c', Boolean, 5);
  await other.rows(books, 'acme').remove('first');
  await until(async () => (await cached.get('first')) === undefined, Boolean, 5);
  await other.rows(books, 'acme').insert({ shelf: 'd' }, { id: 'second' });
  await until(async () => (await cached.findAll('acme', ['d'])).rows.length === 1, Boolean, 5);
  await other.removeTenant('acme');
  await until(async () => (await cached.findAll('acme', ['d'])).rows.length === 0, Boolean, 5);
});

test('while the store is away, rows stand as they were known last', async () => {
  const { nodes, state } = await twoNodes();
  await nodes[0].rows(books, 'acme').insert({ shelf: 'a' }, { id: 'first' });
  const cached = nodes[0].cached(books);
  await ownWriteSeen(() => cached.get('first'));
  state.isAway = true;
  await pause(60);
  expect(await cached.get('first')).toMatchObject({ shelf: 'a' });
  await expect(Promise.resolve(cached.get('another'))).rejects.toThrow(UnavailableError);
});

test('a collection that is not declared for it, or by nobody, is refused', async () => {
  const [{ cached }] = (await twoNodes()).nodes;
  expect(() => cached(visits)).toThrow(TypeError);
  expect(() => cached({ ...books })).toThrow(TypeError);
});
