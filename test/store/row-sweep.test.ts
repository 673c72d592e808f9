/**
 * M18: the slow sweep finds unreadable rows that nobody read, on each store, on one node at a time, and continues where another node
 * stopped.
 */
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { mongoArtifacts, mongoDirectory } from 'tenant-idp/adapters/mongo';
import { redisArtifacts } from 'tenant-idp/adapters/redis';
import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import type { DirectoryStore, Row } from '../../lib/store/directory-store.js';
import { createCheckedDirectory } from '../../lib/store/records/checked-directory.js';
import { collections } from '../../lib/store/records/collections.js';
import type { UpkeepRecord } from '../../lib/store/records/records.js';
import { createRowSweep } from '../../lib/store/records/row-sweep.js';
import { withServer } from '../servers/when.js';
import { withMongo } from '../support/stores/mongo.js';
import { ownPrefix, redisClient } from '../support/stores/redis-clients.js';
import { until } from '../support/time/until.js';

interface Stores {
  readonly artifacts: ArtifactStore;
  readonly directory: DirectoryStore;
}
type AnyRow = Row & Record<string, unknown>;

const ofExtension = { name: 'notes.entries', indexes: { byTenant: { fields: ['tid'] } } };
const wrongOfExtension = (_: string, row: object) => (typeof (row as AnyRow).text === 'string' ? undefined : '/text');
const now = new Date();
const written = { createdAt: now, updatedAt: now };
const subsidiary = (id: string, name: unknown = id): AnyRow =>
  ({ id, tid: 'acme', name, ...written, pendingEvents: [] }) as unknown as AnyRow;

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Creates a node with its own checked directory and sweep. */
function node(
  { artifacts, directory }: Stores,
  name: string,
  {
    passMs = 3_600_000,
    reads = [] as string[],
    missingReference = async (_: string, __: Row): Promise<string | undefined> => undefined,
  } = {},
) {
  const logged: object[] = [];
  const logger = { debug() {}, info() {}, warn() {}, error: (fields: object) => void logged.push(fields) };
  const store = createCheckedDirectory(directory, { logger, now: Date.now, wrongPathOfExtension: wrongOfExtension });
  const sweep = createRowSweep({
    store: {
      collection: (collection) => {
        const rows = store.collection<never>(collection);
        const withUnreadable = () => {
          const all = rows.withUnreadable();
          return {
            ...all,
            find: async (...given: Parameters<typeof all.find>) => {
              const page = await all.find(...given);
              reads.push(...page.map(({ id }: Row) => `${collection}:${id}`));
              return page;
            },
          };
        };
        return { ...rows, withUnreadable } as never;
      },
      recall: store.recall,
    },
    collections: [...Object.keys(collections), ofExtension.name],
    problemOf: async (collection, row) => {
      const path = await missingReference(collection, row);
      return path === undefined ? undefined : { code: 'reference_missing', path };
    },
    // A busy machine must not lose the lease between two rounds.
    lease: () => artifacts.lease('sweep of records', name, 60_000),
    now: Date.now,
    logger,
    intervalMs: 20,
    passMs,
  });
  const close = async () => {
    await sweep.close();
    await artifacts.lease('sweep of records', name, 0);
  };
  closing.push(close);
  return {
    store,
    sweep,
    logged,
    close,
    problems: () => sweep.recall().then(store.problems),
    dangling: () => sweep.recall().then(() => sweep.problems()),
  };
}

function suite(make: () => Promise<Stores>): void {
  const opened = async () => {
    const stores = await make();
    await stores.artifacts.open();
    await stores.directory.open([...Object.values(collections), ofExtension]);
    return stores;
  };
  const rowsOf = ({ directory }: Stores, name: string) => directory.collection<AnyRow>(name);

  test('a bad row of the service and one of an extension are named by collection, id and path, on each node and after a restart', async () => {
    const stores = await opened();
    await rowsOf(stores, 'subsidiaries').put(subsidiary('bad', 5));
    await rowsOf(stores, 'persons').put({
      id: 'p',
      tid: 'acme',
      ...written,
      phoneNumberVerified: false,
      attributes: {},
      pendingEvents: [],
      user: { id: 'u', groupIds: [7] },
    } as never);
    await rowsOf(stores, ofExtension.name).put({ id: 'note', tid: 'acme', text: { secret: 'of the row' } } as never);
    const first = node(stores, 'first');
    first.sweep.start();
    const found = await until(first.problems, ({ length }) => length === 3);
    const expected = [
      { code: 'record_unreadable', collection: 'notes.entries', id: 'note', path: '/text', tid: 'acme' },
      { code: 'record_unreadable', collection: 'persons', id: 'p', path: expect.stringMatching(/^\/user\//), tid: 'acme' },
      { code: 'record_unreadable', collection: 'subsidiaries', id: 'bad', path: '/name', tid: 'acme' },
    ];
    expect([...found].sort((one, other) => (one.id > other.id ? 1 : -1) && (one.collection > other.collection ? 1 : -1))).toEqual(expected);
    expect(first.logged).toHaveLength(3);
    const kept = await until(
      () => rowsOf(stores, 'upkeep').get('sweep of records'),
      (row) => ((row as unknown as UpkeepRecord | undefined)?.sweep?.unreadable ?? []).length === 3,
    );
    expect(JSON.stringify(kept)).not.toContain('secret');
    await first.close();
    // The second node has never swept, like a node after a restart.
    const second = node(stores, 'second');
    expect(await second.problems()).toHaveLength(3);
  });

  test('a row that was repaired and a row that was removed are forgotten, in the store as well', async () => {
    const stores = await opened();
    const subsidiaries = rowsOf(stores, 'subsidiaries');
    await subsidiaries.put(subsidiary('repaired', null));
    await subsidiaries.put(subsidiary('removed', null));
    const first = node(stores, 'first');
    first.sweep.start();
    await until(first.problems, ({ length }) => length === 2);
    await subsidiaries.put(subsidiary('repaired'));
    await subsidiaries.remove('removed');
    expect(await until(first.problems, ({ length }) => length === 0)).toEqual([]);
    await until(
      () => rowsOf(stores, 'upkeep').get('sweep of records'),
      (row) => (row as unknown as UpkeepRecord | undefined)?.sweep?.unreadable.length === 0,
    );
  });

  test('a row whose reference leads nowhere is named on each node and after a restart, logged once, and forgotten when the reference is back', async () => {
    const stores = await opened();
    const subsidiaries = rowsOf(stores, 'subsidiaries');
    for (const id of ['sound', 'orphan', 'removed']) await subsidiaries.put(subsidiary(id));
    const gone = new Set(['orphan', 'removed']);
    const missingReference = async (_: string, { id }: Row) => (gone.has(id) ? '/tid' : undefined);
    const first = node(stores, 'first', { missingReference });
    first.sweep.start();
    const problem = (id: string) => ({ code: 'reference_missing', collection: 'subsidiaries', id, path: '/tid', tid: 'acme' });
    const found = await until(first.dangling, ({ length }) => length === 2);
    expect([...found].sort((one, other) => (one.id < other.id ? -1 : 1))).toEqual([problem('orphan'), problem('removed')]);
    expect(first.logged).toHaveLength(2);
    await until(
      () => rowsOf(stores, 'upkeep').get('sweep of records'),
      (row) => ((row as unknown as UpkeepRecord | undefined)?.sweep?.dangling ?? []).length === 2,
    );
    await first.close();
    const second = node(stores, 'second', { missingReference });
    expect(await second.dangling()).toHaveLength(2);
    await subsidiaries.remove('removed');
    expect(await second.dangling()).toEqual([problem('orphan')]);
    gone.clear();
    expect([await second.dangling(), second.logged.length]).toEqual([[], 2]);
    second.sweep.start();
    await until(
      () => rowsOf(stores, 'upkeep').get('sweep of records'),
      (row) => (row as unknown as UpkeepRecord).sweep?.dangling?.length === 0,
    );
  });

  test('a node reads a bounded number of rows in a round, and another node continues behind them', async () => {
    const stores = await opened();
    const subsidiaries = rowsOf(stores, 'subsidiaries');
    const ids = Array.from({ length: 450 }, (_, index) => `s${String(index).padStart(3, '0')}`);
    for (const id of ids) await subsidiaries.put(subsidiary(id, id === 's449' ? null : id));
    const ofFirst: string[] = [];
    const first = node(stores, 'first', { reads: ofFirst });
    first.sweep.start();
    await until(() => ofFirst.length > 0);
    await first.close();
    expect(ofFirst.length).toBeLessThanOrEqual(400);
    const ofSecond: string[] = [];
    const second = node(stores, 'second', { reads: ofSecond });
    second.sweep.start();
    await until(second.problems, ({ length }) => length === 1);
    await second.close();
    const read = [...ofFirst, ...ofSecond].filter((each) => each.startsWith('subsidiaries:'));
    expect(read).toEqual(ids.map((id) => `subsidiaries:${id}`));
  });

  test('a pass does not begin again before its time, and a node without the lease reads nothing', async () => {
    const stores = await opened();
    await rowsOf(stores, 'subsidiaries').put(subsidiary('one'));
    const reads: string[] = [];
    const others: string[] = [];
    node(stores, 'first', { reads }).sweep.start();
    await until(() => reads.length > 0);
    node(stores, 'second', { reads: others }).sweep.start();
    for (let round = 0; round < 10; round += 1) await new Promise((resolve) => setTimeout(resolve, 20));
    expect([reads, others]).toEqual([['subsidiaries:one'], []]);
  });
}

describe('M18: in memory', () => suite(async () => ({ artifacts: memoryArtifacts(), directory: memoryDirectory() })));

withMongo('MONGODB_URL', (mongo) => {
  describe('M18: in MongoDB, with leases in MongoDB', () =>
    suite(async () => {
      const prefix = mongo.prefix();
      return { artifacts: mongoArtifacts({ db: mongo.db, prefix }), directory: mongoDirectory({ db: mongo.db, prefix }) };
    }));
  withServer('REDIS_URL', (url) => {
    const redis = redisClient(url);
    afterAll(() => redis.disconnect());
    describe('M18: in MongoDB, with leases in Redis', () =>
      suite(async () => ({
        artifacts: redisArtifacts({ client: redis, prefix: ownPrefix() }),
        directory: mongoDirectory({ db: mongo.db, prefix: mongo.prefix() }),
      })));
  });
});
