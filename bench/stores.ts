import { execFileSync } from 'node:child_process';
import type { RedisServer } from '../test/support/stores/redis-server.js';
import { rows } from './requests/rows.js';
import { compare, comparisonCells, fixed, formatTable, speedCell } from './results/comparison.js';
import { interleave, type Slices } from './results/interleave.js';
import { type Contestant, startContestant } from './servers/contestant.js';
import { claimsOf } from './servers/contestants.js';
import { startPostgresServer } from './servers/postgres-server.js';
import { startRedisServer } from './servers/redis-server.js';
import type { StoreUrls } from './servers/stores.js';
import { settings } from './settings.js';

/**
 * Sides of the comparison:
 * - `plain`: oidc-provider with its records and its users in PostgreSQL,
 * - `postgres`: this library with both stores in PostgreSQL,
 * - `mixed`: artifacts in Redis, the directory in PostgreSQL,
 * - `mongo`: artifacts in Redis, the directory in MongoDB,
 * - `file`: both stores in a file (Node 22.13 or later).
 */
type Side = 'plain' | 'postgres' | 'mixed' | 'mongo' | 'file';

const names = [
  'client credentials',
  'introspection',
  'userinfo',
  'scope introspection',
  'authorization with a session',
  'code flow with a session, ES256',
  'refresh with rotation, ES256',
];

/** Measures the rows with durable directories. Each contestant has its own database. */
export async function measureStores(): Promise<string> {
  const stops: (() => Promise<unknown> | unknown)[] = [];
  try {
    const participants = await startSides(stops);
    const measurements: (readonly [string, Slices<Side>])[] = [];
    for (const row of rows.filter(({ name }) => names.includes(name) && settings.isWanted(name))) {
      measurements.push([row.name, await interleave<Side>(row, participants)]);
    }
    return format(measurements);
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

async function startSides(stops: (() => Promise<unknown> | unknown)[]): Promise<Partial<Record<Side, Contestant>>> {
  const redis: RedisServer = await startRedisServer();
  stops.push(() => redis.stop());
  const postgres = await startPostgresServer();
  stops.push(() => postgres.stop());
  const mixed = await postgres.database('mixed');
  const mongo = startMongo();
  const stores: Partial<Record<Side, StoreUrls>> = {
    postgres: { artifacts: await postgres.database('alone'), directory: '' },
    mixed: { artifacts: `${redis.url}/0`, directory: mixed },
    ...(mongo && { mongo: { artifacts: `${redis.url}/1`, directory: `${mongo}/bench_${process.pid}` } }),
    ...(hasSqlite && { file: { artifacts: `file:${redis.dir}/bench.db`, directory: `file:${redis.dir}/bench.db` } }),
  };
  const sides: Partial<Record<Side, Contestant>> = {};
  for (const [side, { artifacts, directory }] of Object.entries(stores) as [Side, StoreUrls][]) {
    const urls = { artifacts, directory: directory || artifacts };
    const contestant = await startContestant({ module: 'ours', env: { NODE_ENV: 'development', BENCH_STORES: JSON.stringify([urls]) } });
    stops.push(() => contestant.stop());
    sides[side] = contestant;
  }
  const env = {
    NODE_ENV: 'production',
    BENCH_POSTGRES: await postgres.database('plain'),
    BENCH_CLAIMS: await claimsOf(sides.postgres as Contestant),
  };
  const plain = await startContestant({ module: 'bare', env });
  stops.push(() => plain.stop());
  return { plain, ...sides };
}

const hasSqlite = process.getBuiltinModule?.('node:sqlite') !== undefined;

/**
 * Returns the URL of a MongoDB server: the server that the environment names, or a new server that ends with the bench. Returns undefined if no server is
 * installed.
 */
function startMongo(): string | undefined {
  const { MONGODB_URL: given } = process.env;
  if (given !== undefined) return given.replace(/\/$/, '');
  const script = new URL('../../test/servers/mongo', import.meta.url).pathname;
  try {
    return execFileSync(script, ['up', '27999', `${process.pid}`], { encoding: 'utf8' })
      .trim()
      .replace(/\/$/, '');
  } catch {
    return undefined;
  }
}

/** Titles of the columns. A ratio above 1 means that the side that is named first is faster. */
const columns = [
  'Request',
  'oidc-provider on PostgreSQL, 1/s',
  'PostgreSQL, 1/s',
  'PostgreSQL / oidc-provider [95 %]',
  'CPU',
  'PostgreSQL / with Redis [95 %]',
  'CPU',
  'PostgreSQL with Redis / MongoDB with Redis [95 %]',
  'CPU',
  'A file / PostgreSQL [95 %]',
  'CPU',
] as const;

function format(measurements: readonly (readonly [string, Slices<Side>])[]): string {
  const lines = measurements.map(([name, { plain, postgres, mixed, mongo, file }]) => [
    name,
    speedCell(plain),
    speedCell(postgres),
    ...comparisonCells(compare(plain, postgres)),
    ...comparisonCells(compare(mixed, postgres)),
    ...comparisonCells(compare(mongo, mixed)),
    ...comparisonCells(compare(postgres, file)),
  ]);
  const introspection = measurements.find(([name]) => name === 'introspection')?.[1];
  const aim = introspection && compare(introspection.mixed, introspection.postgres);
  return [
    formatTable(columns, lines),
    ...(aim ? [`Introspection on PostgreSQL alone has ${fixed(aim.speed)} of its speed with Redis.`] : []),
  ].join('\n\n');
}
