import { Redis } from 'ioredis';
import type { RedisServer } from '../test/support/stores/redis-server.js';
import { rows } from './requests/rows.js';
import { compare, comparisonCells, controlCells, fixed, formatTable, isNoisy, speedCell, TOLERANCE } from './results/comparison.js';
import { interleave, type Slices } from './results/interleave.js';
import { type Contestant, startContestant } from './servers/contestant.js';
import { fill } from './servers/fill.js';
import { startPostgresServer } from './servers/postgres-server.js';
import { startRedisServer } from './servers/redis-server.js';
import { artifactsAt } from './servers/stores.js';
import { settings } from './settings.js';

/** Sides of the comparison. `control` is a second store like `few`, and shows the difference between two equal stores on this machine. */
type Store = 'few' | 'many' | 'control';

const FEW = 1000;
const GOAL = 0.95;
const names = ['client credentials', 'introspection', 'refresh with rotation, ES256'];

/** One store for each side, and the bytes that the records of a side take. */
interface Databases {
  url(store: Store): Promise<string>;
  bytes(store: Store): Promise<number>;
  stop(): Promise<void>;
}

/** Measures growth with artifacts in Redis. */
export const measureGrowth = (): Promise<string> => measure(inRedis());
/** Measures growth with artifacts in PostgreSQL. */
export const measurePostgresGrowth = async (): Promise<string> => measure(await inPostgres());

/** Measures one process of this library that serves three stores. Two stores have few tokens, and the third store has very many tokens. */
async function measure(databases: Databases): Promise<string> {
  const tokens: Readonly<Record<Store, number>> = { few: FEW, many: settings.tokens, control: FEW };
  const stores = Object.keys(tokens) as Store[];
  let ours: Contestant | undefined;
  try {
    const sizes: string[] = [];
    const urls: string[] = [];
    for (const store of stores) {
      const url = await databases.url(store);
      urls.push(url);
      process.stderr.write(`storing ${tokens[store].toLocaleString('en')} tokens …\n`);
      const bytes = await storeTokens(url, tokens[store], () => databases.bytes(store));
      if (store === 'many')
        sizes.push(`${tokens.many.toLocaleString('en')} tokens take ${Math.round(bytes / tokens.many)} bytes each, with their grants.`);
    }
    ours = await startContestant({
      module: 'ours',
      env: { NODE_ENV: 'development', BENCH_STORES: JSON.stringify(urls.map((artifacts) => ({ artifacts }))) },
      profile: settings.profile,
    });
    const { issuers, cpuTime } = ours;
    const participants = Object.fromEntries(stores.map((store, index) => [store, { issuer: issuers[index] as string, cpuTime }]));
    const measurements: (readonly [string, Slices<Store>])[] = [];
    for (const row of rows.filter(({ name }) => names.includes(name) && settings.isWanted(name))) {
      measurements.push([row.name, await interleave<Store>(row, participants)]);
    }
    return [formatGrowth(measurements, tokens.many), ...sizes].join('\n\n');
  } finally {
    await ours?.stop();
    await databases.stop();
  }
}

/** Returns databases in Redis: one server for each side. */
function inRedis(): Databases {
  const servers = new Map<Store, RedisServer>();
  return {
    async url(store) {
      const server = await startRedisServer();
      servers.set(store, server);
      return server.url;
    },
    async bytes(store) {
      const redis = new Redis(servers.get(store)?.url ?? '');
      const memory = await redis.info('memory');
      redis.disconnect();
      return Number(/used_memory:(\d+)/.exec(memory)?.[1]);
    },
    async stop() {
      await Promise.all([...servers.values()].map((server) => server.stop()));
    },
  };
}

/** Returns databases in PostgreSQL: one server with a database for each side. */
async function inPostgres(): Promise<Databases> {
  const server = await startPostgresServer();
  return {
    url: (store) => server.database(store),
    bytes: async (store) => Number((await server.query(store, 'select pg_database_size(current_database()) as size'))[0]?.size),
    stop: () => server.stop(),
  };
}

/** Stores the tokens. @returns the bytes that the store needs for the tokens. */
async function storeTokens(url: string, count: number, bytes: () => Promise<number>): Promise<number> {
  const { store, close } = artifactsAt(url);
  try {
    await store.open();
    const before = await bytes();
    await fill(store, count);
    return (await bytes()) - before;
  } finally {
    await store.close();
    await close();
  }
}

function formatGrowth(measurements: readonly (readonly [string, Slices<Store>])[], many: number): string {
  const [fewTokens, manyTokens] = [FEW, many].map((count) => `${count.toLocaleString('en')} tokens, 1/s`);
  const columns = ['Request', `${fewTokens}`, `${manyTokens}`, 'Ratio [95 %]', 'CPU', '1,000 / 1,000', 'CPU'];
  const results = measurements.map(([name, slices]) => ({
    name,
    slices,
    growth: compare(slices.few, slices.many),
    control: compare(slices.few, slices.control),
  }));
  const lines = results.map(({ name, slices, growth, control }) => [
    name,
    speedCell(slices.few),
    speedCell(slices.many),
    ...comparisonCells(growth),
    ...controlCells(control),
  ]);
  const noisy = results.filter(({ control }) => isNoisy(control)).map(({ name }) => name);
  const missed = results.filter(({ growth }) => growth && (growth.speed < GOAL || growth.cpu < GOAL)).map(({ name }) => name);
  return [
    formatTable(columns, lines),
    ...(noisy.length > 0
      ? [`Two equal stores are more than ${TOLERANCE * 100} % apart, so these rows prove nothing: ${noisy.join('; ')}.`]
      : []),
    missed.length > 0 ? `Rows below ${fixed(GOAL)}: ${missed.join('; ')}.` : `Every row keeps ${fixed(GOAL)} of its speed.`,
  ].join('\n\n');
}
