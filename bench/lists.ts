import { execFileSync } from 'node:child_process';
import { loadavg } from 'node:os';
import { type Db, MongoClient } from 'mongodb';
import { memoryDirectory } from '../adapters/memory/index.js';
import { mongoDirectory, mongoOptions } from '../adapters/mongo/index.js';
import { createDirectory, createPasswords, type TenantDirectory } from '../lib/directory/index.js';
import { createCaches } from '../lib/store/caches/cache.js';
import type { DirectoryStore } from '../lib/store/directory-store.js';
import { createCheckedDirectory } from '../lib/store/records/checked-directory.js';
import { collections } from '../lib/store/records/collections.js';
import { keyedCollections, withKeys } from '../lib/store/records/derived-keys.js';
import { createSealer } from '../lib/store/sealer.js';
import { fixed, formatTable } from './results/comparison.js';
import { bootstrapInterval, median } from './results/statistics.js';
import { settings } from './settings.js';

const FEW = 1000;
/** Maximum ratio of the latency with many persons to the latency with few persons. */
const AT_MOST = 1.5;
/** Milliseconds of a round at one store, before the next round at the other store. */
const ROUND_MS = 50;

type Call = (tenant: TenantDirectory, index: number) => Promise<unknown>;

/** Calls that are measured. Names of persons are numbers that begin alike in all stores, so both stores return the same. */
const rows: readonly { readonly name: string; readonly call: Call }[] = [
  { name: 'a person by id', call: ({ persons }, index) => persons.get(idOf(index)) },
  { name: 'a user by user name', call: ({ users }, index) => users.findByUserName(`user${index}@acme.test`) },
  { name: 'persons by e-mail', call: ({ persons }, index) => persons.list({ email: `user${index}@acme.test` }) },
  { name: 'persons by external id', call: ({ persons }, index) => persons.list({ externalId: `hr-${index}` }) },
  { name: 'persons by the beginning of a name', call: ({ persons }, index) => persons.list({ name: `Person ${nameOf(index)}` }) },
  { name: '50 persons, newest first', call: ({ persons }) => persons.list({ sort: '-createdAt' }) },
  { name: '50 persons by name', call: ({ persons }) => persons.list({ sort: 'name' }) },
  { name: '50 persons by name, from the middle on', call: (tenant) => fromTheMiddle(tenant) },
  { name: '50 invited users by name', call: ({ users }) => users.list({ status: 'invited', sort: 'name' }) },
];

const idOf = (index: number): string => `0197a000-0000-7000-8000-${String(index).padStart(12, '0')}`;
const nameOf = (index: number): string => String((index * 7919) % 1_000_003).padStart(7, '0');

/** Cursor of the page before the middle, read once for each tenant. */
const middles = new WeakMap<TenantDirectory, Promise<string>>();
async function fromTheMiddle(tenant: TenantDirectory): Promise<unknown> {
  const found = middles.get(tenant) ?? middleOf(tenant);
  middles.set(tenant, found);
  return tenant.persons.list({ sort: 'name', after: await found });
}
async function middleOf({ persons }: TenantDirectory): Promise<string> {
  let { next = '' } = await persons.list({ sort: 'name', limit: 200 });
  for (let page = 1; page < FEW / 400; page += 1) next = (await persons.list({ sort: 'name', limit: 200, after: next })).next ?? next;
  return next;
}

interface Filled {
  readonly tenant: TenantDirectory;
  close(): Promise<void>;
}

/** Measures lists. One process has both stores, and queries the stores alternately. */
export async function measureLists(): Promise<string> {
  const load = loadavg()[0] ?? 0;
  const mongo = startMongo();
  const client = new MongoClient(mongo, mongoOptions);
  const db = client.db(`bench_${process.pid}`);
  const kinds: readonly (readonly [string, (name: string) => Promise<DirectoryStore>])[] = [
    ['memory', inMemory],
    ['MongoDB', (name) => inMongo(db, name)],
  ];
  const lines: string[][] = [];
  const missed: string[] = [];
  for (const [kind, make] of kinds) {
    const [few, many] = [await opened(await make('few')), await opened(await make('many'))];
    for (const { name, call } of rows.filter((row) => settings.isWanted(row.name))) {
      const { fewMs, manyMs, ratios } = await measure(call, few.tenant, many.tenant);
      const ratio = median(ratios);
      if (ratio >= AT_MOST) missed.push(`${name} (${kind})`);
      lines.push([kind, name, fixed(fewMs), fixed(manyMs), `${fixed(ratio)} [${bootstrapInterval(ratios).map(fixed).join(', ')}]`]);
    }
    await few.close();
    await many.close();
  }
  await db.dropDatabase();
  await client.close();
  const columns = [
    'Store',
    'Call',
    `${FEW.toLocaleString('en')} persons, ms`,
    `${settings.persons.toLocaleString('en')} persons, ms`,
    'Ratio [95 %]',
  ];
  return [
    formatTable(columns, lines),
    missed.length > 0 ? `Not below ${fixed(AT_MOST)}: ${missed.join('; ')}.` : `Every call stays below ${fixed(AT_MOST)}.`,
    `Load of the machine at the start: ${fixed(load)}.`,
  ].join('\n\n');
}

async function measure(call: Call, few: TenantDirectory, many: TenantDirectory) {
  const timed = async (tenant: TenantDirectory, round: number): Promise<number> => {
    const start = performance.now();
    for (let calls = 1; ; calls += 1) {
      await call(tenant, (round * 31 + calls) % FEW);
      const elapsed = performance.now() - start;
      if (elapsed > ROUND_MS) return elapsed / calls;
    }
  };
  const pairs: (readonly [number, number])[] = [];
  for (let round = -3; round < settings.rounds; round += 1) {
    const first = round % 2 === 0;
    const one = await timed(first ? few : many, Math.max(round, 0));
    const other = await timed(first ? many : few, Math.max(round, 0));
    if (round >= 0) pairs.push(first ? [one, other] : [other, one]);
  }
  return {
    fewMs: median(pairs.map(([ms]) => ms)),
    manyMs: median(pairs.map(([, ms]) => ms)),
    ratios: pairs.map(([less, more]) => more / less),
  };
}

const silent = { debug() {}, info() {}, warn() {}, error() {} };

const TENANT = '0197a000-0000-7000-8000-00000000a001';
const BATCH = 1000;

/** Yields the persons of a store, in batches. */
function* batchesFor(name: string): Generator<readonly ReturnType<typeof personOf>[]> {
  const count = name === 'few' ? FEW : settings.persons;
  process.stderr.write(`storing ${count.toLocaleString('en')} persons …\n`);
  for (let at = 0; at < count; at += BATCH)
    yield Array.from({ length: Math.min(BATCH, count - at) }, (_, offset) => withKeys('persons', personOf(TENANT, at + offset)));
}

async function inMemory(name: string): Promise<DirectoryStore> {
  const store = memoryDirectory();
  await store.open(Object.values(collections));
  for (const batch of batchesFor(name)) for (const person of batch) await store.collection('persons').insert(person);
  return store;
}

/** Writes the documents first and then the indexes over the documents, because this order takes less time. */
async function inMongo(db: Db, name: string): Promise<DirectoryStore> {
  const prefix = `${name}_`;
  for (const batch of batchesFor(name))
    await db
      .collection<{ _id: string }>(`${prefix}persons`)
      .insertMany(batch.map(({ id, ...person }) => ({ ...person, _id: id, version: 1 })));
  const store = mongoDirectory({ db, prefix });
  process.stderr.write('making the indexes …\n');
  await store.open(Object.values(collections));
  return store;
}

async function opened(store: DirectoryStore): Promise<Filled> {
  const checked = createCheckedDirectory(store, { logger: silent, now: Date.now });
  const caches = createCaches(checked, { now: Date.now, logger: silent });
  const directory = createDirectory({
    store: checked,
    caches,
    sealer: createSealer(['a secret of the bench']),
    hasher: createPasswords(),
    lease: async () => true,
    logger: silent,
    issuer: 'http://localhost',
    identityScopes: new Set(['openid']),
  });
  directory.keyCompletion.start();
  for (const collection of keyedCollections)
    while (!(await directory.keyCompletion.isKeyed(collection))) await new Promise((resolve) => setTimeout(resolve, 100));
  return {
    tenant: directory.forTenant(TENANT),
    async close() {
      await directory.close();
      await caches.close();
    },
  };
}

function personOf(tid: string, index: number) {
  const at = new Date(1_700_000_000_000 + index * 1000);
  const userName = `user${index}@acme.test`;
  return {
    id: idOf(index),
    tid,
    givenName: 'Person',
    familyName: nameOf(index),
    email: userName,
    externalId: `hr-${index}`,
    phoneNumberVerified: false,
    attributes: {},
    createdAt: at,
    updatedAt: at,
    pendingEvents: [],
    user: {
      id: idOf(index).replace('8000', '9000'),
      userName,
      userNameKey: userName,
      emailVerified: false,
      isParent: false,
      groupIds: [],
      status: index % 2 === 0 ? 'invited' : 'active',
      externalIdentities: [],
      externalIdentityKeys: [],
    },
  };
}

/** Starts a server that ends with the bench, unless the environment names one. */
function startMongo(): string {
  const given = process.env.MONGODB_URL;
  if (given !== undefined) return given;
  const script = new URL('../../test/servers/mongo', import.meta.url).pathname;
  const env = { ...process.env, TEST_MONGO_ORDERED: '1' };
  return execFileSync(script, ['up', '27999', `${process.pid}`], { env, encoding: 'utf8' }).trim();
}
