import { Redis } from 'ioredis';
import { rows } from './requests/rows.js';
import { interleave, type Slices } from './results/interleave.js';
import { report, summarize, type TablePlan } from './results/report.js';
import { type Plan, type Plans, type Stop, startContestants } from './servers/contestants.js';
import { startRedisServer } from './servers/redis-server.js';
import { settings } from './settings.js';

/** Sides of the comparison. `control` is equal to `plain`. */
type Side = 'plain' | 'before' | 'ours' | 'control' | 'published';

const table: TablePlan<Side> = {
  title: '',
  names: { plain: 'plain', before: 'before', ours: 'ours' },
  ratios: [
    { title: 'Before / plain', base: 'plain', other: 'before' },
    {
      title: 'Ours / plain',
      base: 'plain',
      other: 'ours',
      goalOf: (name) => rows.find((row) => row.name === name)?.goal ?? 1,
    },
    { title: 'Ours / before', base: 'before', other: 'ours' },
    { title: 'Ours / published', base: 'published', other: 'ours' },
    { title: 'Plain / plain', base: 'plain', other: 'control', isControl: true },
  ],
};

/** Measures every row at this library and at bare oidc-provider, all on one Redis, with the directory in memory. */
export async function measureSideBySide(): Promise<string> {
  const stops: Stop[] = [];
  try {
    const server = await startRedisServer();
    const redis = new Redis(server.url);
    stops.push(
      () => server.stop(),
      () => redis.disconnect(),
    );
    const contestants = await startContestants(plansFor(server.url), stops);
    const measurements: (readonly [string, Slices<Side>])[] = [];
    for (const row of rows.filter(({ name }) => settings.isWanted(name))) {
      await redis.flushall();
      measurements.push([row.name, await interleave<Side>(row, contestants)]);
    }
    return await report([summarize(table, measurements)]);
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

/** Returns the contestants that the settings name, each with its own database. */
function plansFor(redis: string): Plans<Side> {
  const all: Readonly<Record<Side, Omit<Plan, 'stores'>>> = {
    plain: { kind: 'plain' },
    before: { kind: 'before' },
    ours: { kind: 'ours', profile: settings.profile },
    control: { kind: 'plain' },
    published: { kind: 'published' },
  };
  const isMeasured = (side: string): boolean =>
    side === 'ours' || (side === 'before' ? settings.before !== undefined : settings.against.includes(side));
  const plans = Object.entries(all).map(([side, plan], index) => [side, { ...plan, stores: { artifacts: `${redis}/${index}` } }] as const);
  return Object.fromEntries(plans.filter(([side]) => isMeasured(side)));
}
