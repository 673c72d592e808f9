import { Redis } from 'ioredis';
import { redisArtifacts, redisOptions } from '../adapters/redis/index.js';
import type { RedisServer } from '../test/support/stores/redis-server.js';
import { rows } from './requests/rows.js';
import { compare, comparisonCells, controlCells, fixed, formatTable, isNoisy, speedCell, TOLERANCE } from './results/comparison.js';
import { interleave, type Slices } from './results/interleave.js';
import { type Contestant, startContestant } from './servers/contestant.js';
import { fill } from './servers/fill.js';
import { startRedisServer } from './servers/redis-server.js';
import { settings } from './settings.js';

/** `control` is a second `few`: it shows the difference between two equal stores on this machine. */
type Store = 'few' | 'many' | 'control';

const FEW = 1000;
const GOAL = 0.95;
const names = ['client credentials', 'introspection', 'refresh with rotation, ES256'];

/** Measures growth. One process of this library serves three Redis servers: two with few tokens, the third with very many tokens. */
export async function measureGrowth(): Promise<string> {
  const tokens: Readonly<Record<Store, number>> = { few: FEW, many: settings.tokens, control: FEW };
  const stores = Object.keys(tokens) as Store[];
  const servers: RedisServer[] = [];
  let ours: Contestant | undefined;
  try {
    const sizes: string[] = [];
    for (const store of stores) {
      const server = await startRedisServer();
      servers.push(server);
      process.stderr.write(`storing ${tokens[store].toLocaleString('en')} tokens …\n`);
      const bytes = await storeTokens(server.url, tokens[store]);
      if (store === 'many')
        sizes.push(`${tokens.many.toLocaleString('en')} tokens take ${Math.round(bytes / tokens.many)} bytes each, with their grants.`);
    }
    ours = await startContestant({
      module: 'ours',
      env: { NODE_ENV: 'development', BENCH_REDIS: servers.map(({ url }) => url).join(' ') },
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
    await Promise.all(servers.map((server) => server.stop()));
  }
}

/** @returns the bytes that Redis needs for the tokens. */
async function storeTokens(url: string, count: number): Promise<number> {
  const redis = new Redis(url, redisOptions);
  const usedMemory = async (): Promise<number> => Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
  const store = redisArtifacts({ client: redis });
  try {
    await store.open();
    const before = await usedMemory();
    await fill(store, count);
    return (await usedMemory()) - before;
  } finally {
    await store.close();
    redis.disconnect();
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
