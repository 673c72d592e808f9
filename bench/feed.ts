import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Caches, createCaches } from '../lib/store/caches/cache.js';
import type { DirectoryStore } from '../lib/store/directory-store.js';
import { createCheckedDirectory } from '../lib/store/records/checked-directory.js';
import { withCollections } from '../test/store/with-collections.js';
import { freePort } from '../test/support/service/free-port.js';
import { databaseUrl, dropDatabase } from '../test/support/stores/places.js';
import { fixed, formatTable } from './results/comparison.js';
import { quantile } from './results/statistics.js';
import { startPostgresServer } from './servers/postgres-server.js';
import { directoryAt } from './servers/stores.js';

const NODES = 3;
/** Writes a second, of all nodes together. */
const WRITES_PER_SECOND = 200;
const BUSY_MS = 20_000;
const IDLE_MS = 10_000;
/** Milliseconds after which every node has looked at the feed. */
const SETTLED_MS = 2_500;
const COLLECTION = 'measured';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** Measures how late nodes forget rows that another node writes, and what the change feed asks of the store. */
export async function measureFeed(): Promise<string> {
  const postgres = await startPostgresServer();
  const mongo = process.env.MONGODB_URL ?? (await startMongo());
  const database = `bench_${process.pid}_feed`;
  try {
    const lines = [
      await measured('MongoDB', directoryAt(databaseUrl(mongo, database))),
      await measured('PostgreSQL', directoryAt(await postgres.database(database))),
    ];
    const columns = [
      ...['Store', 'Writes, 1/s', 'Late by: median, ms', 'p99, ms', 'Longest, ms', 'Forgotten'],
      ...['Calls for a write', 'Looks, 1/s and node', 'Entries of a look', 'Idle calls, 1/s and node'],
    ];
    return formatTable(columns, lines);
  } finally {
    await dropDatabase(mongo, database);
    await postgres.stop();
  }
}

/** Returns the node that writes a row. */
const writerOf = (id: string): number => Number(id) % NODES;

/** Calls of all nodes for the change feed. */
interface Calls {
  inserts: number;
  looks: number;
  entries: number;
  others: number;
}

async function measured(name: string, store: DirectoryStore): Promise<readonly string[]> {
  await store.open([COLLECTION, 'changes'].map((collection) => ({ name: collection, indexes: {} })));
  const calls: Calls = { inserts: 0, looks: 0, entries: 0, others: 0 };
  const writtenAt = new Map<string, number>();
  const late: number[] = [];
  const nodes = Array.from({ length: NODES }, (_, node) => {
    const directory = createCheckedDirectory(counted(store, calls), { logger: silent, now: Date.now });
    const caches = createCaches(directory, { now: Date.now, logger: silent });
    caches.watch(COLLECTION, (ids = []) => {
      const now = performance.now();
      for (const id of ids) if (writerOf(id) !== node) late.push(Math.max(0, now - (writtenAt.get(id) ?? now)));
    });
    return { caches, rows: directory.collection(COLLECTION) };
  });
  const idle = await during(calls, () => sleep(IDLE_MS));
  let count = 0;
  const busy = await during(calls, async () => {
    const start = performance.now();
    const writes: Promise<unknown>[] = [];
    for (; performance.now() - start < BUSY_MS; count += 1) {
      const id = `${count}`;
      const node = nodes[writerOf(id)];
      writes.push(Promise.resolve(node?.rows.insert({ id })).then(() => void writtenAt.set(id, performance.now())));
      await sleep(Math.max(0, start + ((count + 1) * 1000) / WRITES_PER_SECOND - performance.now()));
    }
    await Promise.all(writes);
  });
  await sleep(SETTLED_MS);
  await Promise.all(nodes.map(({ caches }: { readonly caches: Caches }) => caches.close()));
  const perNode = (number: number, ms: number): string => fixed(number / (ms / 1000) / NODES);
  return [
    name,
    fixed(count / (BUSY_MS / 1000)),
    ...[0.5, 0.99, 1].map((share) => fixed(quantile(late, share))),
    `${late.length.toLocaleString('en')} of ${(count * (NODES - 1)).toLocaleString('en')}`,
    fixed(busy.inserts / count),
    perNode(busy.looks, BUSY_MS),
    fixed(busy.entries / busy.looks),
    perNode(idle.inserts + idle.looks + idle.others, IDLE_MS),
  ];
}

/** @returns the calls while `work` runs */
async function during(calls: Calls, work: () => Promise<unknown>): Promise<Calls> {
  const before = { ...calls };
  await work();
  return {
    inserts: calls.inserts - before.inserts,
    looks: calls.looks - before.looks,
    entries: calls.entries - before.entries,
    others: calls.others - before.others,
  };
}

const counted = (store: DirectoryStore, calls: Calls): DirectoryStore =>
  withCollections(store, (rows, collection) =>
    collection === 'changes'
      ? {
          insert(row) {
            calls.inserts += 1;
            return rows.insert(row);
          },
          async find(where, page) {
            calls.looks += 1;
            const found = await rows.find(where, page);
            calls.entries += found.length;
            return found;
          },
          remove(id, version) {
            calls.others += 1;
            return rows.remove(id, version);
          },
        }
      : {},
  );

async function startMongo(): Promise<string> {
  const script = new URL('../../test/servers/mongo', import.meta.url).pathname;
  return execFileSync(script, ['up', `${await freePort()}`, `${process.pid}`], { encoding: 'utf8' }).trim();
}
