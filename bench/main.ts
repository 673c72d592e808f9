/**
 * This library and bare oidc-provider side by side on one Redis: `npm run bench`. All servers live the whole time; short slices alternate, so
 * that whatever disturbs the machine disturbs all.
 *
 * Environment: `BENCH_ROUNDS` (32), `BENCH_SLICE` (150, milliseconds), `BENCH_ROWS` (parts of rows' names, comma-separated; all rows),
 * `BENCH_AGAINST` (`plain,control,published`), `BENCH_PROFILE` (folder for a V8 CPU profile of ours).
 */
import type { Contestant } from './contestant.js';
import { type Contestants, type Side, sides, startContestants } from './contestants.js';
import { pinLoad } from './cores.js';
import { type Load, prepareLoad, type Slice } from './load.js';
import { startRedisServer } from './redis-server.js';
import { formatReport, type Measurement } from './report.js';
import { type Row, rows } from './rows.js';

const {
  BENCH_ROUNDS = '32',
  BENCH_SLICE = '150',
  BENCH_ROWS = '',
  BENCH_AGAINST = 'plain,control,published',
  BENCH_PROFILE: profile,
} = process.env;
const rounds = Number(BENCH_ROUNDS);
const slice = Number(BENCH_SLICE);
const WARM_UP = 1200;

async function measure(row: Row, contestants: Contestants): Promise<Measurement> {
  const loads: { readonly side: Side; readonly load: Load }[] = [];
  for (const side of sides) {
    const contestant = contestants[side];
    if (contestant) loads.push({ side, load: await prepareLoad(contestant, row) });
  }
  const slices: Partial<Record<Side, Slice[]>> = Object.fromEntries(loads.map(({ side }) => [side, []]));
  try {
    for (const { load } of loads) await load.run(Math.min(WARM_UP, slice * rounds));
    for (let round = 0; round < rounds; round += 1) {
      // Rotated and every other time reversed: nobody always runs after the same one.
      const first = round % loads.length;
      const order = [...loads.slice(first), ...loads.slice(0, first)];
      for (const { side, load } of round % 2 === 0 ? order : order.reverse()) slices[side]?.push(await load.run(slice));
    }
  } finally {
    for (const { load } of loads) load.close();
  }
  return { row, slices };
}

pinLoad();
const redis = await startRedisServer();
const running: Contestant[] = [];
try {
  const contestants = await startContestants({ redis, against: BENCH_AGAINST.split(','), profile }, (one) => running.push(one));
  const measurements: Measurement[] = [];
  for (const row of rows.filter(({ name }) => BENCH_ROWS.split(',').some((part) => name.includes(part)))) {
    process.stderr.write(`${row.name} …\n`);
    await redis.clear();
    measurements.push(await measure(row, contestants));
  }
  console.log(formatReport(measurements));
} finally {
  await Promise.all(running.map((contestant) => contestant.stop()));
  await redis.stop();
}
