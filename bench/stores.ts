import { execFileSync } from 'node:child_process';
import { freePort } from '../test/support/service/free-port.js';
import { databaseUrl, dropDatabase } from '../test/support/stores/places.js';
import { rows } from './requests/rows.js';
import { interleave, type Slices } from './results/interleave.js';
import { report, summarize, type Table, type TablePlan } from './results/report.js';
import { type Plan, type Plans, type Stop, startContestants } from './servers/contestants.js';
import { startPostgresServer } from './servers/postgres-server.js';
import { startRedisServer } from './servers/redis-server.js';
import type { StoreUrls } from './servers/stores.js';
import { settings } from './settings.js';

/**
 * Sides of the comparison:
 * - `plain`: oidc-provider with its records, clients and users in the same stores,
 * - `before`: an earlier build of this library,
 * - `ours`: this library,
 * - `memory`: this library with the same store of artifacts, and the directory in memory,
 * - `redis`: this library with the same directory, and artifacts in Redis,
 * - `file`: this library with both stores in a file (Node 22.13 or later).
 */
type Side = 'plain' | 'before' | 'ours' | 'memory' | 'redis' | 'file';

/** Aims for the ratio to the same row with the directory in memory. A row that writes has none. */
const rowsOfStores: Readonly<Record<string, number | undefined>> = {
  'client credentials': undefined,
  'client credentials, private_key_jwt': undefined,
  'code flow with a session, ES256': undefined,
  'code flow with a session, public client, Origin': undefined,
  'refresh with rotation, ES256': undefined,
  'authorization with a session': 0.9,
  introspection: 0.9,
  'scope introspection': 0.9,
  userinfo: 0.9,
};

/** Stores of one table. Each call returns a new, empty store. */
interface Setting {
  readonly title: string;
  artifacts(): Promise<string>;
  directory(): Promise<string>;
  /** Stores of other sides of this library, for ratios that compare stores. */
  readonly others?: Plans<Side>;
}

/** Measures rows with durable directories, one pair of stores after the other. */
export async function measureStores(): Promise<string> {
  const stops: Stop[] = [];
  try {
    const tables: Table[] = [];
    for (const setting of await startSettings(stops)) tables.push(await measureSetting(setting));
    return await report(tables);
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

async function measureSetting({ title, artifacts, directory, others }: Setting): Promise<Table> {
  const stops: Stop[] = [];
  try {
    process.stderr.write(`${title} …\n`);
    const storesOf = async (): Promise<StoreUrls> => ({ artifacts: await artifacts(), directory: await directory() });
    const plans: Partial<Record<Side, Plan>> = {
      plain: { kind: 'plain', stores: await storesOf() },
      ...(settings.before !== undefined && { before: { kind: 'before', stores: await storesOf() } }),
      ours: { kind: 'ours', stores: await storesOf(), profile: settings.profile },
      memory: { kind: 'ours', stores: { artifacts: await artifacts() } },
      ...others,
    };
    const contestants = await startContestants<Side>(plans, stops);
    const measurements: (readonly [string, Slices<Side>])[] = [];
    for (const row of rows.filter(({ name }) => name in rowsOfStores && settings.isWanted(name)))
      measurements.push([row.name, await interleave<Side>(row, contestants)]);
    return summarize({ ...table, title }, measurements);
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

/** Starts the servers of all stores. */
async function startSettings(stops: Stop[]): Promise<readonly Setting[]> {
  const redisServer = await startRedisServer();
  stops.push(() => redisServer.stop());
  const postgresServer = await startPostgresServer();
  stops.push(() => postgresServer.stop());
  let databases = 0;
  const nextDatabase = (): number => {
    databases += 1;
    return databases;
  };
  const redis = async () => `${redisServer.url}/${nextDatabase()}`;
  const postgres = () => postgresServer.database(`bench_${nextDatabase()}`);
  const mongo = await startMongo(stops, nextDatabase);
  const alone = await postgres();
  const file = `file:${redisServer.dir}/bench.db`;
  return [
    ...(mongo ? [{ title: 'Directory in MongoDB, artifacts in Redis', artifacts: redis, directory: mongo }] : []),
    { title: 'Directory in PostgreSQL, artifacts in Redis', artifacts: redis, directory: postgres },
    {
      title: 'Both in PostgreSQL',
      artifacts: postgres,
      directory: postgres,
      others: {
        redis: { kind: 'ours', stores: { artifacts: await redis(), directory: alone } },
        ...(hasSqlite && { file: { kind: 'ours', stores: { artifacts: file, directory: file } } }),
      },
    },
  ];
}

const hasSqlite = process.getBuiltinModule?.('node:sqlite') !== undefined;

/**
 * Returns a function that names a new database of a MongoDB server: of the server that the environment names, or of a new server that ends with the bench.
 * Returns undefined if no server is installed.
 */
async function startMongo(stops: Stop[], nextDatabase: () => number): Promise<(() => Promise<string>) | undefined> {
  const server = process.env.MONGODB_URL ?? (await startOwnMongo());
  if (server === undefined) return undefined;
  return async () => {
    const name = `bench_${process.pid}_${nextDatabase()}`;
    stops.push(() => dropDatabase(server, name));
    return databaseUrl(server, name);
  };
}

async function startOwnMongo(): Promise<string | undefined> {
  const script = new URL('../../test/servers/mongo', import.meta.url).pathname;
  try {
    return execFileSync(script, ['up', `${await freePort()}`, `${process.pid}`], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

const table: Omit<TablePlan<Side>, 'title'> = {
  names: { plain: 'plain', before: 'before', ours: 'ours' },
  ratios: [
    { title: 'Before / plain', base: 'plain', other: 'before' },
    { title: 'Ours / plain', base: 'plain', other: 'ours' },
    { title: 'Ours / before', base: 'before', other: 'ours' },
    { title: 'Ours / directory in memory', base: 'memory', other: 'ours', goalOf: (row) => rowsOfStores[row] },
    {
      title: 'Ours / artifacts in Redis',
      base: 'redis',
      other: 'ours',
      goalOf: (row) => (row === 'introspection' ? 0.5 : undefined),
    },
    { title: 'A file / ours', base: 'ours', other: 'file' },
  ],
};
