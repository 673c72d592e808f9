import type { Slice } from '../requests/load.js';
import { bootstrapInterval, median, quantile } from './statistics.js';

export type SlicesOrNone = readonly Slice[] | undefined;

/** Ratios. Above 1, the other side is faster than the base, and needs less CPU time. */
export interface Comparison {
  readonly speed: number;
  /** Interval of `speed`, at 95 %. */
  readonly interval: readonly [low: number, high: number];
  readonly cpu: number;
}

/** Share of slices that count. A disturbance only adds CPU time, so the least disturbed slices count. */
const QUIET_SHARE = 0.2;
/** Maximum difference between two equal servers. With a larger difference, the other ratios of the run prove nothing. */
export const TOLERANCE = 0.05;

/** Compares round by round, so that a slow machine slows both sides of a ratio. */
export function compare(base: SlicesOrNone, other: SlicesOrNone): Comparison | undefined {
  if (!base || !other) return undefined;
  const speeds = base.map(({ perSecond }, round) => (other[round]?.perSecond ?? Number.NaN) / perSecond);
  return { speed: median(speeds), interval: bootstrapInterval(speeds), cpu: cpuOf(base) / cpuOf(other) };
}

/** Returns whether two equal servers were measured as different. */
export const isNoisy = (control: Comparison | undefined): boolean =>
  control !== undefined && [control.speed, control.cpu].some((ratio) => Math.abs(ratio - 1) > TOLERANCE);

/** Returns the microseconds of CPU time of a request, in the least disturbed slices. */
export const cpuOf = (slices: readonly Slice[]): number =>
  quantile(
    slices.map(({ cpuPerRequest }) => cpuPerRequest),
    QUIET_SHARE,
  );

/** Returns requests per second for a cell of a table. */
export const speedCell = (slices: SlicesOrNone): string =>
  slices ? Math.round(median(slices.map(({ perSecond }) => perSecond))).toLocaleString('en') : '–';

/** Returns the ratio of speeds with its interval. */
export const comparisonCell = ({ speed, interval }: Comparison): string => `${fixed(speed)} [${interval.map(fixed).join(', ')}]`;

/** Returns two cells: the ratio of speeds with its interval, and the ratio of CPU time. */
export const comparisonCells = (comparison: Comparison | undefined): readonly [string, string] =>
  comparison ? [comparisonCell(comparison), fixed(comparison.cpu)] : ['–', '–'];

/** Returns two cells with the ratios, without an interval. */
export const controlCells = (control: Comparison | undefined): readonly [string, string] =>
  control ? [fixed(control.speed), fixed(control.cpu)] : ['–', '–'];

export const fixed = (value: number): string => value.toFixed(2);

/** Returns the table in Markdown. */
export const formatTable = (columns: readonly string[], lines: readonly (readonly string[])[]): string =>
  [columns, columns.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
