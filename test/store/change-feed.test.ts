/** The change feed between two nodes: held up, with a gap, with late writers, with clocks that are off, with rows of other programs. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { v7 } from 'uuid';
import { UnavailableError } from '../../lib/errors.js';
import { type Caches, createCaches } from '../../lib/store/caches/cache.js';
import { ChangeReader, removeOldChanges } from '../../lib/store/caches/change-log.js';
import { createReadThrough } from '../../lib/store/caches/read-through.js';
import type { Collection, DirectoryStore, Row } from '../../lib/store/directory-store.js';
import { type CheckedCollection, createCheckedDirectory } from '../../lib/store/records/checked-directory.js';
import type { ChangeRecord } from '../../lib/store/records/records.js';
import { inStoreTime } from '../../lib/store/times/store-time.js';
import { silentLogger } from '../support/service/test-directory.js';
import { withDurable } from '../support/stores/durable.js';
import { clockedArtifacts } from '../support/time/clocked-artifacts.js';
import { until } from '../support/time/until.js';
import { withCollections } from './with-collections.js';

interface Named extends Row {
  readonly name: string;
  readonly pendingEvents?: readonly object[];
  readonly outbox?: 'yes';
}

const away = () => new UnavailableError('store_unavailable', { store: 'test' }, { cause: new Error('No answer') });
const specs = ['books', 'shelves', 'changes'].map((name) => ({ name, indexes: {} }));

/** Milliseconds after which an entry that a node found is its position. */
const OVERLAP = 5_600;
/** Milliseconds after which the positions of nodes are behind the start of a test. */
const LONG = 7_000;
/** Milliseconds in which nodes see a write, however slow the machine is: less than a row is cached for. */
const SOON = 30_000;

/** Faults of one node's store. */
interface Faults {
  /** Whether looks at the feed are held up. */
  areLooksHeld: boolean;
  areLooksFailing: boolean;
  isAllFailing: boolean;
  /** Runs before the next insert into the feed. */
  beforeEntry: ((row: Row) => Promise<unknown>) | undefined;
}

interface Node {
  readonly books: CheckedCollection<Named>;
  readonly changes: CheckedCollection<ChangeRecord>;
  readonly cached: Caches;
  readonly faults: Faults;
  readonly state: { looks: number; loads: number };
  name(id?: string): Promise<string | undefined>;
}

function suite(storeOf: () => Promise<DirectoryStore>, areClocksTried = false): void {
  const closing: (() => Promise<void>)[] = [];
  let store: DirectoryStore;
  let shift = 0;
  const shared = () => Date.now() + shift;

  const node = ({ now = shared, over = store }: { now?: () => number; over?: DirectoryStore } = {}): Node => {
    const faults: Faults = { areLooksHeld: false, areLooksFailing: false, isAllFailing: false, beforeEntry: undefined };
    const state = { looks: 0, loads: 0 };
    const directory = withCollections(over, (rows, name) => ({
      async get(id) {
        if (faults.isAllFailing) throw away();
        state.loads += 1;
        return rows.get(id);
      },
      async find(where, page) {
        if (name !== 'changes') return rows.find(where, page);
        await until(() => !faults.areLooksHeld);
        if (faults.areLooksFailing || faults.isAllFailing) throw away();
        state.looks += 1;
        return rows.find(where, page);
      },
      async insert(row) {
        const { beforeEntry } = faults;
        if (name === 'changes') {
          faults.beforeEntry = undefined;
          await beforeEntry?.(row as Row);
        }
        return rows.insert(row);
      },
    }));
    const checked = createCheckedDirectory(directory, { logger: silentLogger, now });
    const cached = createCaches(checked, { now, pollInterval: 10, logger: silentLogger });
    closing.push(() => cached.close());
    const rows = cached.rows<Named>('books');
    const changes = checked.collection<ChangeRecord>('changes');
    return {
      changes,
      books: checked.collection<Named>('books'),
      cached,
      faults,
      state,
      name: async (id = 'a') => (await rows.get(id))?.name,
    };
  };
  const entries = (): Collection<ChangeRecord> => store.collection<ChangeRecord>('changes');
  const looked = async ({ state }: Node) => {
    const { looks } = state;
    await until(() => state.looks > looks + 1);
  };

  beforeEach(async () => {
    shift = 0;
    store = await storeOf();
    await store.open(specs);
    await store.collection<Named>('books').put({ id: 'a', name: 'first' });
    await store.collection<Named>('books').put({ id: 'b', name: 'another' });
  });
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });

  test('design §4: a write makes all nodes forget its row, and no other row', async () => {
    const [here, there] = [node(), node()];
    for (const each of [here, there]) expect([await each.name('a'), await each.name('b')]).toEqual(['first', 'another']);
    await here.books.update('a', (row) => ({ ...row, name: 'second' }));
    expect(await here.name()).toBe('second');
    await until(async () => (await there.name()) === 'second');
    await looked(here);
    const loads = [here.state.loads, there.state.loads];
    for (const each of [here, there]) expect([await each.name('a'), await each.name('b')]).toEqual(['second', 'another']);
    expect([here.state.loads, there.state.loads]).toEqual(loads);
  });

  test('design §4: each write is told by the directory itself, with the id of its row; an added event is told as work, and a removed one is not', async () => {
    const { books } = node();
    const event = { id: 'e', type: 'T', time: new Date(), subject: 's', data: {} };
    const writes: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['c', () => books.insert({ id: 'c', name: 'c' })],
      ['d', () => books.put({ id: 'd', name: 'd' })],
      ['a', () => books.update('a', (row) => ({ ...row, name: 'second' }))],
      ['e', () => books.upsert('e', () => ({ id: 'e', name: 'e' }))],
      ['e', () => books.upsert('e', () => ({ id: 'e', name: 'f' }))],
      ['b', () => books.withUnreadable().update('b', (row) => ({ ...row, name: 'second' }))],
      ['d', () => books.withRemoved().update('d', (row) => ({ ...row, name: 'second' }))],
      ['c', () => books.remove('c')],
      ['d', () => books.retire('d', [])],
    ];
    for (const [, write] of writes) await write();
    await books.update('a', (row) => ({ ...row, pendingEvents: [event], outbox: 'yes' as const }));
    const quiet: readonly (() => Promise<unknown>)[] = [
      () => books.update('a', (row) => row),
      () => books.update('none', (row) => ({ ...row, name: 'second' })),
      () => books.remove('none'),
      () => books.withRemoved().update('a', ({ outbox: _, ...row }) => ({ ...row, pendingEvents: [] })),
    ];
    for (const write of quiet) await write();
    const told = (await entries().find({})).map((entry) => JSON.stringify(entry.writes));
    // Entries of the same millisecond have no order.
    const expected = [...writes.slice(0, -1).map(([id]) => ({ ids: [id] })), { ids: ['d'], work: true }, { ids: [], work: true }];
    expect(told.sort()).toEqual(expected.map((write) => JSON.stringify([{ collection: 'books', ...write }])).sort());
  });

  test('design §4: writes of one node at the same time share inserts', async () => {
    const { books } = node();
    const ids = Array.from({ length: 50 }, (_, index) => `book ${index}`);
    await Promise.all(ids.map((id) => books.insert({ id, name: id })));
    const all = await entries().find({});
    expect(all.length).toBeLessThan(25);
    expect(new Set(all.flatMap(({ writes }) => writes.flatMap((write) => write.ids)))).toEqual(new Set(ids));
  });

  test('design §4: a load that is under way when its row is forgotten answers its caller and is not kept', async () => {
    let release: () => void = () => {};
    let held: Promise<void> | undefined;
    const slow = withCollections(store, (rows, name) => ({
      async get(id) {
        const row = await rows.get(id);
        if (name === 'books') await held;
        return row;
      },
    }));
    const { books, name } = node({ over: slow });
    held = new Promise((resolve) => {
      release = resolve;
    });
    const early = name();
    await sleep(20);
    await books.put({ id: 'a', name: 'second' });
    release();
    held = undefined;
    expect(await early).toBe('first');
    expect(await name()).toBe('second');
  });

  test('design §4: a remembered absence is forgotten by id too', async () => {
    const [here, there] = [node(), node()];
    expect([await here.name('c'), await there.name('c')]).toEqual([undefined, undefined]);
    await here.books.insert({ id: 'c', name: 'new' });
    expect(await here.name('c')).toBe('new');
    await until(async () => (await there.name('c')) === 'new');
  });

  test('design §4: a node whose feed is held up for two seconds answers no cached row, until it has looked', async () => {
    const [here, there] = [node(), node()];
    const cached = there.cached.rows<Named>('books');
    await there.name();
    there.faults.areLooksFailing = true;
    await here.books.update('a', (row) => ({ ...row, name: 'second' }));
    expect(cached.peek('a')?.name).toBe('first');
    await sleep(2_050);
    expect(cached.peek('a')).toBeUndefined();
    expect(await there.name()).toBe('second');
    await here.books.update('a', (row) => ({ ...row, name: 'third' }));
    expect(await there.name()).toBe('third');
    there.faults.areLooksFailing = false;
    await looked(there);
    await there.name();
    expect(cached.peek('a')?.name).toBe('third');
  });

  test('design §4: a node that finds a gap in the feed forgets everything', async () => {
    const [here, there] = [node(), node()];
    await here.books.update('b', (row) => ({ ...row, name: 'other' }));
    await looked(there);
    // Afterwards, the entry of `b` is before the overlap, so it is the position of the node.
    await sleep(OVERLAP);
    await looked(there);
    expect(await there.name()).toBe('first');
    there.faults.areLooksHeld = true;
    await here.books.update('a', (row) => ({ ...row, name: 'second' }));
    for (const { id } of await entries().find({})) await entries().remove(id);
    there.faults.areLooksHeld = false;
    await until(async () => (await there.name()) === 'second');
  });

  test('design §4: a node that did not look for a minute forgets everything, even where the feed was empty', async () => {
    const [here, there] = [node(), node()];
    await looked(there);
    await there.name();
    there.faults.areLooksHeld = true;
    await here.books.update('a', (row) => ({ ...row, name: 'second' }));
    for (const { id } of await entries().find({})) await entries().remove(id);
    shift += 61_000;
    there.faults.areLooksHeld = false;
    await until(async () => (await there.name()) === 'second');
  });

  test('design §4: an entry that is committed after entries with higher ids is read', async () => {
    const [here, there] = [node(), node()];
    await here.books.update('b', (row) => ({ ...row, name: 'other' }));
    await sleep(OVERLAP);
    const late = v7({ msecs: shared() - 4_000 });
    await here.books.update('b', (row) => ({ ...row, name: 'another' }));
    await looked(there);
    await there.name();
    await store.collection<Named>('books').put({ id: 'a', name: 'second' });
    await entries().insert({ id: late, writes: [{ collection: 'books', ids: ['a'] }] });
    await until(async () => (await there.name()) === 'second');
  });

  test('design §4: a writer whose entry takes longer than the overlap allows tells again under a new id, before it answers', async () => {
    const [here, there] = [node(), node()];
    await there.name();
    let first = '';
    here.faults.beforeEntry = async ({ id }) => {
      first = id;
      await entries().insert({ id: v7({ msecs: shared() + 1 }), writes: [] });
      // Afterwards, the position of the other node is behind the id of the entry.
      await sleep(OVERLAP);
      await looked(there);
    };
    await here.books.update('a', (row) => ({ ...row, name: 'second' }));
    const ids = (await entries().find({})).filter(({ writes }) => writes.length > 0).map(({ id }) => id);
    expect(ids).toEqual([first, expect.any(String)]);
    await until(async () => (await there.name()) === 'second');
  });

  test('design §4: a write that the store makes after its answer was lost is seen', async () => {
    const there = node();
    const lost = withCollections(store, (rows, name) => ({
      async put(row) {
        if (name !== 'books') return rows.put(row);
        setTimeout(() => void rows.put(row), 1_000);
        throw away();
      },
    }));
    const here = node({ over: lost });
    await expect(here.books.put({ id: 'a', name: 'second' })).rejects.toMatchObject({ code: 'store_unavailable' });
    await sleep(500);
    // The first notice was read, and the write is not made yet.
    expect([await here.name(), await there.name()]).toEqual(['first', 'first']);
    await until(async () => (await here.name()) === 'second' && (await there.name()) === 'second');
  });

  test('design §4: a notice of a write waits while the feed takes no entries', async () => {
    const [here, there] = [node(), node()];
    await there.name();
    here.faults.beforeEntry = async () => {
      throw away();
    };
    await here.books.update('a', (row) => ({ ...row, name: 'second' }));
    await until(async () => (await there.name()) === 'second');
  });

  test('design §4: a notice that waits is sent by a node that cannot read the feed', async () => {
    const [here, there] = [node(), node()];
    await there.name();
    here.faults.areLooksFailing = true;
    here.faults.beforeEntry = async () => {
      throw away();
    };
    await here.books.update('a', (row) => ({ ...row, name: 'second' }));
    await until(async () => (await there.name()) === 'second');
  });

  test('design §4: a node that closes sends the notices that wait', async () => {
    const [here, there] = [node(), node()];
    await there.name();
    await looked(here);
    here.faults.areLooksHeld = true;
    here.faults.beforeEntry = async () => {
      throw away();
    };
    await here.books.update('a', (row) => ({ ...row, name: 'second' }));
    await here.cached.close();
    await until(async () => (await there.name()) === 'second');
    here.faults.areLooksHeld = false;
  });

  test('design §4: two nodes that choose the same id both tell', async () => {
    const [here, there] = [node(), node()];
    await there.name();
    here.faults.beforeEntry = ({ id }) => entries().insert({ id, writes: [] });
    await here.books.update('a', (row) => ({ ...row, name: 'second' }));
    await until(async () => (await there.name()) === 'second');
  });

  test.each([12_000, -12_000])('L6: nodes see each other’s writes while the clock of one is %d ms ahead', async (ahead) => {
    const off = inStoreTime(clockedArtifacts(memoryArtifacts(), ahead), silentLogger);
    await off.store.open();
    // The store's clock is behind the machine's by as much as this node is ahead of the store.
    const [one, other] = [node({ now: off.now }), node({ now: () => Date.now() - ahead })];
    for (const [here, there, names] of [
      [one, other, ['b1', 'b2']],
      [other, one, ['c1', 'c2']],
    ] as const)
      for (const name of names) {
        await there.name();
        await here.books.update('a', (row) => ({ ...row, name }));
        await until(async () => (await there.name()) === name);
      }
    await off.store.close();
  });

  // The ids of entries do not depend on the store, so one store is enough for tests that take so long.
  if (areClocksTried)
    test.each([12_000, -12_000])(
      'F2: nodes see each other’s writes while some of them have the time that all share, and the others are %d ms off',
      async (step) => {
        const off = [0, 0, 0];
        const nodes = off.map((_, index) => node({ now: () => Date.now() + (off[index] ?? 0) }));
        const [one, other, third] = nodes as [Node, Node, Node];
        let writes = 0;
        let isWriting = true;
        const writing = (async () => {
          for (; isWriting; await sleep(100)) await third.books.update('b', (row) => ({ ...row, name: `other ${writes++}` }));
        })();
        const expectSeen = async (here: Node, there: Node) => {
          const name = `name ${writes++}`;
          await there.name();
          // Entries with higher ids are committed first.
          here.faults.beforeEntry = () => sleep(400);
          await here.books.update('a', (row) => ({ ...row, name }));
          const answered = performance.now();
          await until(async () => (await there.name()) === name);
          expect(performance.now() - answered).toBeLessThan(SOON);
        };
        const expectAllSeen = async () => {
          for (const [here, there] of [[one, other], [other, one], [one, other]] as const) await expectSeen(here, there); // biome-ignore format: a list
        };
        try {
          await sleep(LONG);
          // One node has compared the clocks after the clock of the store was set, and the others have not.
          off[0] = step;
          await expectAllSeen();
          await sleep(LONG);
          await expectAllSeen();
          off.fill(step);
          await expectAllSeen();
          off.fill(0);
          await expectAllSeen();
        } finally {
          isWriting = false;
          await writing;
        }
      },
    );

  test('M17: a malformed entry makes nodes forget everything once, and later writes are seen', async () => {
    const [here, there] = [node(), node()];
    await looked(there);
    await there.name();
    await store.collection<Named>('books').put({ id: 'a', name: 'second' });
    await store.collection<Row>('changes').insert({ id: v7(), writes: 5 } as never);
    await until(async () => (await there.name()) === 'second');
    await looked(there);
    const { loads } = there.state;
    await there.name();
    await looked(there);
    await there.name();
    expect(there.state.loads).toBe(loads);
    await here.books.update('a', (row) => ({ ...row, name: 'third' }));
    await until(async () => (await there.name()) === 'third');
  });

  test('M17: rows that are no entries are removed with the old entries, except the newest old entry', async () => {
    const [here, there] = [node(), node()];
    await store.collection<Row>('changes').insert({ id: 'revisions', revisions: { books: 3 } } as never);
    const at = (seconds: number) => v7({ msecs: Date.now() + seconds * 1000 });
    const [old, newest, recent, future] = [at(-300), at(-200), at(-100), at(3600)];
    const reader = new ChangeReader({ rows: here.changes, now: shared, onEntry: () => undefined, onGap: () => undefined });
    const remove = () => removeOldChanges(store.collection('changes'), reader, new AbortController().signal);
    for (const id of [old, newest]) await entries().insert({ id, writes: [] });
    await reader.look();
    await remove();
    expect((await entries().find({})).map(({ id }) => id)).toEqual([old, newest]);
    const steady = performance.now();
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => steady + 121_000);
    for (const id of [recent, future]) await entries().insert({ id, writes: [] });
    await remove();
    clock.mockRestore();
    expect((await entries().find({})).map(({ id }) => id)).toEqual([newest, recent, future]);
    // An entry of a clock that was ahead is an entry. The ids of later entries are above it.
    await there.name();
    await here.books.update('a', (row) => ({ ...row, name: 'second' }));
    await until(async () => (await there.name()) === 'second');
  });
}

describe('the change feed over memory', () => suite(async () => memoryDirectory(), true));

withDurable(['MONGODB_URL', 'POSTGRES_URL'], (durable) => suite(async () => durable.at(durable.place()).directory));

describe('a cache of a node that is not current', () => {
  const cacheOf = (isUnansweredInOutage: boolean) => {
    const state = { isCurrent: true, isAway: false, loads: 0 };
    const load = async (key: string) => {
      state.loads += 1;
      if (state.isAway) throw away();
      return { key };
    };
    const currency = { isCurrent: () => state.isCurrent };
    return { state, cache: createReadThrough(load, { max: 10, ttl: 60_000, currency, isUnansweredInOutage }) };
  };

  test('design §4: loads each value again', async () => {
    const { state, cache } = cacheOf(false);
    await cache.get('a');
    state.isCurrent = false;
    expect(cache.peek('a')).toBeUndefined();
    await cache.get('a');
    await cache.get('a');
    expect(state.loads).toBe(3);
  });

  test('design §4: shares no load that began before the process was stopped', async () => {
    const answers: ((name: string) => void)[] = [];
    const load = () => new Promise<{ name: string }>((resolve) => answers.push((name) => resolve({ name })));
    const cache = createReadThrough(load, { max: 10, ttl: 60_000, currency: { isCurrent: () => false } });
    const [early, shared] = [cache.get('a'), cache.get('a')];
    expect(answers.length).toBe(1);
    const now = performance.now();
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now + 10_000);
    const late = cache.get('a');
    clock.mockRestore();
    answers.forEach((answer, index) => void answer(`answer ${index}`));
    expect([await early, await shared, await late].map((value) => value?.name)).toEqual(['answer 0', 'answer 0', 'answer 1']);
  });

  test('design §8: answers its values while the store is unavailable, and does not ask the store for each', async () => {
    const { state, cache } = cacheOf(false);
    for (const key of ['a', 'b']) await cache.get(key);
    Object.assign(state, { isCurrent: false, isAway: true, loads: 0 });
    expect(await cache.get('a')).toEqual({ key: 'a' });
    expect(await cache.get('b')).toEqual({ key: 'b' });
    expect(state.loads).toBe(1);
    await expect(cache.get('c')).rejects.toMatchObject({ code: 'store_unavailable' });
  });

  test.each([1, 20])('design §8: answers its value to all of %i concurrent callers while the store is unavailable', async (callers) => {
    const { state, cache } = cacheOf(false);
    await cache.get('a');
    Object.assign(state, { isCurrent: false, isAway: true, loads: 0 });
    const answers = await Promise.all(Array.from({ length: callers }, () => cache.get('a')));
    expect(answers).toEqual(Array(callers).fill({ key: 'a' }));
    expect(state.loads).toBe(1);
  });

  test('design §8: answers no value that decides about a sign-in', async () => {
    const { state, cache } = cacheOf(true);
    await cache.get('a');
    Object.assign(state, { isCurrent: false, isAway: true });
    await expect(cache.get('a')).rejects.toMatchObject({ code: 'store_unavailable' });
    await expect(cache.get('a')).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(cache.peek('a')).toBeUndefined();
  });
});
