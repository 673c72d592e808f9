/** Rows that a read left out because they are not of their form: with the rows that were read, so that a list can name them. */

export interface LeftOutRow {
  readonly id: string;
  /** The tenant that the row says it is of. */
  readonly tid: unknown;
  /** The first member that is not of its form. */
  readonly member: string;
}

const leftOut = new WeakMap<readonly unknown[], readonly LeftOutRow[]>();

/** Remembers which rows were left out of these. Returns the rows. */
export function withLeftOut<Rows extends readonly unknown[]>(rows: Rows, those: readonly LeftOutRow[]): Rows {
  if (those.length > 0) leftOut.set(rows, those);
  return rows;
}

/** The rows that were left out of these when they were read. */
export const leftOutOf = (rows: readonly unknown[]): readonly LeftOutRow[] => leftOut.get(rows) ?? [];
