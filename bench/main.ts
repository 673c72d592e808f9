/**
 * Bare oidc-provider and this library side by side: `npm run bench`. Both servers live the whole time; short slices alternate, so that whatever
 * disturbs the machine disturbs both.
 *
 * Environment: `BENCH_ROUNDS` (32), `BENCH_SLICE` (150, milliseconds), `BENCH_ROWS` (part of a row's name; all rows),
 * `BENCH_PROFILE` (folder for a V8 CPU profile of ours).
 */
import { Connection } from './connection.js';
import { type Contestant, startContestant } from './contestant.js';
import { type Load, prepareLoad, type Slice } from './load.js';
import { formatReport, type Measurement } from './report.js';
import { obtainTokens, type Row, rows } from './rows.js';
import { userScopes } from './world.js';

const { BENCH_ROUNDS = '32', BENCH_SLICE = '150', BENCH_ROWS = '', BENCH_PROFILE: profile } = process.env;
const rounds = Number(BENCH_ROUNDS);
const slice = Number(BENCH_SLICE);
const WARM_UP = 1200;

type Side = 'bare' | 'control' | 'ours';

/** What userinfo answers here, so that both servers answer the same. */
async function claimsOf({ issuer }: Contestant): Promise<string> {
  const connection = new Connection(issuer);
  const { access_token: token } = await obtainTokens(connection, issuer, 'web-es256', userScopes);
  const { body } = await connection.get('/connect/userinfo', { authorization: `Bearer ${token}` });
  connection.close();
  return body;
}

async function measure(row: Row, contestants: Readonly<Record<Side, Contestant>>): Promise<Measurement> {
  const loads: { readonly side: Side; readonly load: Load }[] = [];
  for (const side of ['bare', 'ours', 'control'] as const) loads.push({ side, load: await prepareLoad(contestants[side], row) });
  const slices: Record<Side, Slice[]> = { bare: [], control: [], ours: [] };
  try {
    for (const { load } of loads) await load.run(Math.min(WARM_UP, slice * rounds));
    for (let round = 0; round < rounds; round += 1) {
      // Rotated and every other time reversed: nobody always runs after the same one.
      const first = round % loads.length;
      const order = [...loads.slice(first), ...loads.slice(0, first)];
      for (const { side, load } of round % 2 === 0 ? order : order.reverse()) slices[side].push(await load.run(slice));
    }
  } finally {
    for (const { load } of loads) load.close();
  }
  return { row: row.name, ...slices };
}

const running: Contestant[] = [];
const start = async (...contestant: Parameters<typeof startContestant>): Promise<Contestant> => {
  const started = await startContestant(...contestant);
  running.push(started);
  return started;
};

try {
  const ours = await start('ours', { profile });
  const env = { BENCH_CLAIMS: await claimsOf(ours) };
  const contestants = { ours, bare: await start('bare', { env }), control: await start('bare', { env }) };
  const measurements: Measurement[] = [];
  for (const row of rows.filter(({ name }) => name.includes(BENCH_ROWS))) {
    process.stderr.write(`${row.name} …\n`);
    measurements.push(await measure(row, contestants));
  }
  console.log(formatReport(measurements));
} finally {
  await Promise.all(running.map((contestant) => contestant.stop()));
}
