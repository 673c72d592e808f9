import type { Side } from './contestants.js';
import type { Slice } from './load.js';
import type { Row } from './rows.js';
import { bootstrapInterval, median, quantile } from './statistics.js';

/** The slices of one row, round by round, of each who took part. */
export interface Measurement {
  readonly row: Pick<Row, 'name' | 'goal'>;
  readonly slices: Readonly<Partial<Record<Side, readonly Slice[]>>>;
}

/** Disturbance only ever adds CPU time: the least disturbed slices tell. */
const QUIET_SHARE = 0.2;
/** How far two servers that are alike may be apart before the row says nothing. */
const TOLERANCE = 0.05;

/** Headings of the table; ratios above 1: the one named first is faster. */
export const columns = [
  'Request',
  'Plain, 1/s',
  'Ours, 1/s',
  'Ours / plain [95 %]',
  'CPU',
  'Ours / published [95 %]',
  'CPU',
  'Plain / plain',
  'CPU',
] as const;

/** A Markdown table, then the rows that prove nothing, and those that miss their goal. */
export function formatReport(measurements: readonly Measurement[]): string {
  const lines = measurements.map(({ row, slices: { plain, ours, control, published } }) => [
    row.name,
    speedOf(plain),
    speedOf(ours),
    ...compared(plain, ours, true),
    ...compared(published, ours, true),
    ...compared(plain, control, false),
  ]);
  const table = [columns, columns.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`);
  return [...table, ...noisyRows(measurements), ...missedGoals(measurements)].join('\n');
}

function noisyRows(measurements: readonly Measurement[]): string[] {
  const noisy = measurements.filter(({ slices: { plain, control } }) => {
    const ratio = compare(plain, control);
    return ratio && [ratio.speed, ratio.cpu].some((value) => Math.abs(value - 1) > TOLERANCE);
  });
  if (noisy.length === 0) return [];
  return ['', `Two plain servers are more than ${TOLERANCE * 100} % apart, so these rows prove nothing: ${namesOf(noisy)}.`];
}

function missedGoals(measurements: readonly Measurement[]): string[] {
  const judged = measurements.flatMap(({ row, slices: { plain, ours } }) => {
    const ratio = compare(plain, ours);
    return ratio ? [{ name: row.name, goal: row.goal ?? 1, ...ratio }] : [];
  });
  if (judged.length === 0) return [];
  const missed = judged.filter(({ goal, speed, cpu }) => speed < goal || cpu < goal);
  if (missed.length === 0) return ['', 'Every row meets its goal.'];
  const lines = missed.map(({ name, goal, speed, cpu }) => `| ${name} | ${fixed(goal)} | ${fixed(speed)} | ${fixed(cpu)} |`);
  return ['', 'Rows that miss their goal:', '', '| Request | Goal | Ours / plain | CPU |', '| --- | --- | --- | --- |', ...lines];
}

const namesOf = (measurements: readonly Measurement[]): string => measurements.map(({ row }) => row.name).join('; ');

type Slices = readonly Slice[] | undefined;

/** How many times as fast as the base the other is, and how many times as little CPU time it needs. */
function compare(
  base: Slices,
  other: Slices,
): { readonly speed: number; readonly speeds: readonly number[]; readonly cpu: number } | undefined {
  if (!base || !other) return undefined;
  // Round by round, so that whatever slows the machine for a while slows both sides of a ratio.
  const speeds = base.map(({ perSecond }, round) => (other[round]?.perSecond ?? Number.NaN) / perSecond);
  return { speed: median(speeds), speeds, cpu: cpuOf(base) / cpuOf(other) };
}

function compared(base: Slices, other: Slices, withInterval: boolean): [speed: string, cpu: string] {
  const ratio = compare(base, other);
  if (!ratio) return ['–', '–'];
  const [low, high] = bootstrapInterval(ratio.speeds);
  return [`${fixed(ratio.speed)}${withInterval ? ` [${fixed(low)}, ${fixed(high)}]` : ''}`, fixed(ratio.cpu)];
}

const cpuOf = (slices: readonly Slice[]): number =>
  quantile(
    slices.map(({ cpuPerRequest }) => cpuPerRequest),
    QUIET_SHARE,
  );

const speedOf = (slices: Slices): string =>
  slices ? Math.round(median(slices.map(({ perSecond }) => perSecond))).toLocaleString('en') : '–';
const fixed = (value: number): string => value.toFixed(2);
