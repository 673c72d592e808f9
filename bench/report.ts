import type { Slice } from './load.js';
import { bootstrapInterval, median, quantile } from './statistics.js';

/** The slices of one row, round by round. */
export interface Measurement {
  readonly row: string;
  readonly bare: readonly Slice[];
  /** A second process of the same bare server: what the machine does to two servers that are alike. */
  readonly control: readonly Slice[];
  readonly ours: readonly Slice[];
}

/** Disturbance only ever adds CPU time: the least disturbed slices tell. */
const QUIET_SHARE = 0.2;
/** How far two servers that are alike may be apart before the row says nothing. */
const TOLERANCE = 0.05;

const columns = ['row', 'bare req/s', 'ours req/s', 'ratio [95 %]', 'CPU ratio', 'bare/bare', 'bare/bare CPU'] as const;

/** A Markdown table. Ratios above 1: faster than bare. */
export function formatReport(measurements: readonly Measurement[]): string {
  const lines = measurements.map((measurement) => {
    const { row, bare, control, ours } = measurement;
    const ratios = speedRatios(bare, ours);
    const [low, high] = bootstrapInterval(ratios);
    return [
      row,
      speedOf(bare),
      speedOf(ours),
      `${fixed(median(ratios))} [${fixed(low)}, ${fixed(high)}]`,
      fixed(cpuOf(bare) / cpuOf(ours)),
      fixed(median(speedRatios(bare, control))),
      fixed(cpuOf(bare) / cpuOf(control)),
    ];
  });
  const table = [columns, columns.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`);
  const noisy = measurements.filter(isNoisy).map(({ row }) => row);
  const warning = `Two bare servers are more than ${TOLERANCE * 100} % apart, so these rows prove nothing: ${noisy.join('; ')}.`;
  return [...table, ...(noisy.length > 0 ? ['', warning] : [])].join('\n');
}

const isNoisy = ({ bare, control }: Measurement): boolean =>
  [median(speedRatios(bare, control)), cpuOf(bare) / cpuOf(control)].some((ratio) => Math.abs(ratio - 1) > TOLERANCE);

/** Round by round, so that whatever slows the machine for a while slows both sides of a ratio. */
const speedRatios = (base: readonly Slice[], other: readonly Slice[]): number[] =>
  base.map(({ perSecond }, round) => (other[round]?.perSecond ?? Number.NaN) / perSecond);

const cpuOf = (slices: readonly Slice[]): number =>
  quantile(
    slices.map(({ cpuPerRequest }) => cpuPerRequest),
    QUIET_SHARE,
  );

const speedOf = (slices: readonly Slice[]): string => Math.round(median(slices.map(({ perSecond }) => perSecond))).toLocaleString('en');
const fixed = (value: number): string => value.toFixed(2);
