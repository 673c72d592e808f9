import type { Row } from '../requests/row.js';
import type { Side } from '../servers/contestants.js';
import {
  type Comparison,
  compare,
  comparisonCells,
  controlCells,
  fixed,
  formatTable,
  isNoisy,
  speedCell,
  TOLERANCE,
} from './comparison.js';
import type { Slices } from './interleave.js';

export interface Measurement {
  readonly row: Pick<Row, 'name' | 'goal'>;
  readonly slices: Slices<Side>;
}

/** Columns. Above 1, the side that is named first is faster. */
const columns = [
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

interface Result extends Measurement {
  readonly plain: Comparison | undefined;
  readonly published: Comparison | undefined;
  readonly control: Comparison | undefined;
}

/** Returns a table, the rows that prove nothing, and the rows that miss their goal. */
export function formatReport(measurements: readonly Measurement[]): string {
  const results = measurements.map((measurement): Result => {
    const { ours, plain, published, control } = measurement.slices;
    return { ...measurement, plain: compare(plain, ours), published: compare(published, ours), control: compare(plain, control) };
  });
  const lines = results.map(({ row, slices, plain, published, control }) => [
    row.name,
    speedCell(slices.plain),
    speedCell(slices.ours),
    ...comparisonCells(plain),
    ...comparisonCells(published),
    ...controlCells(control),
  ]);
  return [formatTable(columns, lines), ...noisyRows(results), ...missedGoals(results)].join('\n\n');
}

function noisyRows(results: readonly Result[]): string[] {
  const noisy = results.filter(({ control }) => isNoisy(control)).map(({ row }) => row.name);
  return noisy.length === 0
    ? []
    : [`Two plain servers are more than ${TOLERANCE * 100} % apart, so these rows prove nothing: ${noisy.join('; ')}.`];
}

function missedGoals(results: readonly Result[]): string[] {
  const judged = results.flatMap(({ row: { name, goal = 1 }, plain }) => (plain ? [{ name, goal, ...plain }] : []));
  if (judged.length === 0) return [];
  const missed = judged.filter(({ goal, speed, cpu }) => speed < goal || cpu < goal);
  if (missed.length === 0) return ['Every row meets its goal.'];
  const lines = missed.map(({ name, goal, speed, cpu }) => [name, fixed(goal), fixed(speed), fixed(cpu)]);
  return ['Rows that miss their goal:', formatTable(['Request', 'Goal', 'Ours / plain', 'CPU'], lines)];
}
