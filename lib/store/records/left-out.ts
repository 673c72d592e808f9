/** Malformed rows that a read left out. They are remembered together with the rows that were read, so that a list can name them. */

export interface LeftOutRow {
  readonly id: string;
  /** The tenant that the row names. */
  readonly tid: unknown;
  /** A JSON Pointer to the first malformed part. */
  readonly path: string;
}

const leftOut = new WeakMap<readonly unknown[], readonly LeftOutRow[]>();

/** Remembers which rows a read left out. Returns the rows that were read. */
export function withLeftOut<Rows extends readonly unknown[]>(rows: Rows, those: readonly LeftOutRow[]): Rows {
  if (those.length > 0) leftOut.set(rows, those);
  return rows;
}

/** Returns the rows that the read of these rows left out. */
export const leftOutOf = (rows: readonly unknown[]): readonly LeftOutRow[] => leftOut.get(rows) ?? [];
