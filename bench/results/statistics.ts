/** Returns the value below which a share of the values lies, interpolated. @param share 0 to 1. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const position = (sorted.length - 1) * share;
  const below = sorted[Math.floor(position)] ?? Number.NaN;
  const above = sorted[Math.ceil(position)] ?? Number.NaN;
  return below + (above - below) * (position - Math.floor(position));
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

const RESAMPLES = 2000;

/** Returns the 95 % interval of the median, by resampling. @see Efron, Bootstrap Methods, 1979 */
export function bootstrapInterval(values: readonly number[]): readonly [low: number, high: number] {
  const medians = Array.from({ length: RESAMPLES }, () =>
    median(values.map(() => values[Math.floor(Math.random() * values.length)] as number)),
  );
  return [quantile(medians, 0.025), quantile(medians, 0.975)];
}
