import { Redis } from 'ioredis';
import { rows } from './requests/rows.js';
import { interleave } from './results/interleave.js';
import { formatReport, type Measurement } from './results/report.js';
import type { Contestant } from './servers/contestant.js';
import { startContestants } from './servers/contestants.js';
import { startRedisServer } from './servers/redis-server.js';
import { settings } from './settings.js';

/** Measures every row at this library and at bare oidc-provider, all on one Redis. */
export async function measureSideBySide(): Promise<string> {
  const server = await startRedisServer();
  const redis = new Redis(server.url);
  const running: Contestant[] = [];
  try {
    const contestants = await startContestants({ redis: server.url, ...settings }, (one) => running.push(one));
    const measurements: Measurement[] = [];
    for (const row of rows.filter(({ name }) => settings.isWanted(name))) {
      await redis.flushall();
      measurements.push({ row, slices: await interleave(row, contestants) });
    }
    return formatReport(measurements);
  } finally {
    await Promise.all(running.map((contestant) => contestant.stop()));
    redis.disconnect();
    await server.stop();
  }
}
