/** Tables of a run in Markdown, and their figures as JSON. */
import { readFile, writeFile } from 'node:fs/promises';
import { pinning } from '../servers/cores.js';
import { settings } from '../settings.js';
import { type Comparison, compare, comparisonCell, cpuOf, fixed, formatTable, isNoisy, TOLERANCE } from './comparison.js';
import type { Slices } from './interleave.js';
import { median, quantile } from './statistics.js';

/** Comparison of two sides. Above 1, `other` is faster than `base`. */
export interface RatioPlan<Side extends string> {
  readonly title: string;
  readonly base: Side;
  readonly other: Side;
  /** Returns the aim of a row. The aim is reached if the interval contains the aim, or lies above the aim. */
  goalOf?(row: string): number | undefined;
  /** Whether both sides are equal servers. The ratio then shows the differences that the machine makes. */
  readonly isControl?: boolean;
}

export interface TablePlan<Side extends string> {
  readonly title: string;
  /** Names of the sides whose figures have columns, in the order of the columns. */
  readonly names: Readonly<Partial<Record<Side, string>>>;
  readonly ratios: readonly RatioPlan<Side>[];
}

interface Figures {
  readonly perSecond: number;
  /** Microseconds of CPU time of the whole process for a request, in the least disturbed slices. */
  readonly cpu: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

interface Ratio extends Comparison {
  readonly goal?: number | undefined;
  readonly isControl?: boolean;
}

interface ResultRow {
  readonly name: string;
  /** Figures by the name of the side. */
  readonly sides: Readonly<Record<string, Figures>>;
  /** Ratios by title. */
  readonly ratios: Readonly<Record<string, Ratio>>;
}

export interface Table {
  readonly title: string;
  readonly rows: readonly ResultRow[];
}

/** Results of one run. */
interface Run {
  readonly node: string;
  readonly pinning: string;
  readonly rounds: number;
  readonly slice: number;
  readonly tables: readonly Table[];
}

export type Measurements<Side extends string> = readonly (readonly [row: string, slices: Slices<Side>])[];

/** Returns the figures of a table. Sides that were not measured are absent. */
export function summarize<Side extends string>({ title, names, ratios }: TablePlan<Side>, measurements: Measurements<Side>): Table {
  const rows = measurements.map(([name, slices]): ResultRow => {
    const sides: Record<string, Figures> = {};
    for (const [side, sideName] of Object.entries(names) as [Side, string][]) {
      const measured = slices[side];
      if (!measured) continue;
      const latencies = measured.flatMap((slice) => slice.latencies);
      sides[sideName] = {
        perSecond: median(measured.map(({ perSecond }) => perSecond)),
        cpu: cpuOf(measured),
        p50: quantile(latencies, 0.5),
        p99: quantile(latencies, 0.99),
      };
    }
    const compared: Record<string, Ratio> = {};
    for (const { title: ratio, base, other, goalOf, isControl } of ratios) {
      const comparison = compare(slices[base], slices[other]);
      if (comparison) compared[ratio] = { ...comparison, goal: goalOf?.(name), ...(isControl && { isControl }) };
    }
    return { name, sides, ratios: compared };
  });
  return { title, rows };
}

/** Returns the tables as Markdown, and writes the figures to the file of the settings. */
export async function report(tables: readonly Table[]): Promise<string> {
  const run: Run = { node: process.versions.node, pinning, rounds: settings.rounds, slice: settings.slice, tables };
  if (settings.json !== undefined) await writeFile(settings.json, JSON.stringify(run, null, 2));
  return format([run]);
}

/** Returns the tables of earlier runs as Markdown, with the columns of all runs side by side. @param files JSON files of runs with the same rows */
export async function joinReports(files: readonly string[]): Promise<string> {
  const runs = await Promise.all(files.map(async (file) => JSON.parse(await readFile(file, 'utf8')) as Run));
  return format(runs);
}

function format(runs: readonly Run[]): string {
  const titles = [...new Set(runs.flatMap(({ tables }) => tables.map(({ title }) => title)))];
  return titles.flatMap((title) => [...(title === '' ? [] : [`### ${title}`]), ...formatTables(title, runs)]).join('\n\n');
}

function formatTables(title: string, runs: readonly Run[]): readonly string[] {
  const parts = runs.flatMap(({ node, tables }) => {
    const table = tables.find((one) => one.title === title);
    return table ? [{ prefix: runs.length > 1 ? `Node ${node.split('.')[0]}: ` : '', rows: table.rows }] : [];
  });
  const names = [...new Set(parts.flatMap(({ rows }) => rows.map(({ name }) => name)))];
  const columns = parts.flatMap(columnsOf);
  const lines = names.map((name) => [name, ...columns.map(({ cellOf }) => cellOf(name))]);
  const all = parts.flatMap(({ prefix, rows }) =>
    rows.flatMap(({ name, ratios }) => Object.entries(ratios).map(([ratio, value]) => ({ name, ratio: prefix + ratio, ...value }))),
  );
  return [formatTable(['Request', ...columns.map(({ name }) => name)], lines), ...noisyRows(all), ...missedGoals(all)];
}

interface Column {
  readonly name: string;
  cellOf(row: string): string;
}

/** Returns the columns of one run. */
function columnsOf({ prefix, rows }: { readonly prefix: string; readonly rows: readonly ResultRow[] }): readonly Column[] {
  const byName = new Map(rows.map((row) => [row.name, row]));
  const sides = [...new Set(rows.flatMap((row) => Object.keys(row.sides)))];
  const ratios = [...new Set(rows.flatMap((row) => Object.keys(row.ratios)))];
  const figures = (name: string, textOf: (figures: Figures) => string): Column => ({
    name: prefix + name,
    cellOf: (row) => sides.map((side) => textIf(byName.get(row)?.sides[side], textOf)).join(' · '),
  });
  return [
    figures(`${sides.join(' · ')}, 1/s`, ({ perSecond }) => Math.round(perSecond).toLocaleString('en')),
    ...ratios.map((ratio) => ({
      name: `${prefix}${ratio} [95 %]`,
      cellOf: (row: string) => textIf(byName.get(row)?.ratios[ratio], comparisonCell),
    })),
    figures('CPU, µs', ({ cpu }) => Math.round(cpu).toLocaleString('en')),
    figures('p50, ms', ({ p50 }) => p50.toFixed(1)),
    figures('p99, ms', ({ p99 }) => p99.toFixed(1)),
  ];
}

const textIf = <T>(value: T | undefined, textOf: (value: T) => string): string => (value === undefined ? '–' : textOf(value));

type NamedRatio = Ratio & { readonly name: string; readonly ratio: string };

function noisyRows(ratios: readonly NamedRatio[]): readonly string[] {
  const noisy = ratios.filter((ratio) => ratio.isControl && isNoisy(ratio)).map(({ name }) => name);
  return noisy.length === 0
    ? []
    : [`Two plain servers are more than ${TOLERANCE * 100} % apart, so these rows prove nothing: ${noisy.join('; ')}.`];
}

function missedGoals(ratios: readonly NamedRatio[]): readonly string[] {
  const judged = ratios.filter((ratio): ratio is NamedRatio & { goal: number } => ratio.goal !== undefined);
  if (judged.length === 0) return [];
  const missed = judged.filter(({ goal, interval: [, high] }) => high < goal);
  if (missed.length === 0) return ['Every row reaches its aim.'];
  const lines = missed.map(({ name, ratio, goal, cpu, ...comparison }) => [
    name,
    ratio,
    fixed(goal),
    comparisonCell({ ...comparison, cpu }),
    fixed(cpu),
  ]);
  return ['Rows that miss their aim:', formatTable(['Request', 'Ratio', 'Aim', 'Reached [95 %]', 'CPU'], lines)];
}
