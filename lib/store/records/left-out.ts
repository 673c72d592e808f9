/** Malformed rows that a read left out, remembered together with the rows that were read, so that a list can name the malformed rows. */

export interface LeftOutRow {
  readonly id: string;
  /** The tenant that the row names. */
  readonly tid: unknown;
  /** A JSON Pointer to the first malformed part. */
  readonly path: string;
}

const leftOut = new WeakMap<readonly unknown[], readonly LeftOutRow[]>();

/** Remembers which rows a read left out. Returns the rows that were read. */
export function withLeftOut<Rows extends readonly unknown[]>(rows: Rows, leftOutRows: readonly LeftOutRow[]): Rows {
  if (leftOutRows.length > 0) leftOut.set(rows, leftOutRows);
  return rows;
}

/** Returns the rows that the read of these rows left out. */
export const leftOutOf = (rows: readonly unknown[]): readonly LeftOutRow[] => leftOut.get(rows) ?? [];

/**
 * Returns the member `unreadable` of a page: the malformed rows that its reads left out, each once. Returns no member if no row was left out.
 * @example
 * ```ts
 * import { type ExtensionRows, leftOutIn } from 'tenant-idp/extension';
 *
 * export async function namesOf(rows: ExtensionRows<{ name: string }>) {
 *   const found = await rows.find('byName', ['a']);
 *   return { items: found.map(({ name }) => name), ...leftOutIn(found) };
 * }
 * ```
 */
export function leftOutIn(...reads: readonly (readonly unknown[])[]): { readonly unreadable?: Pick<LeftOutRow, 'id' | 'path'>[] } {
  const items = new Map(reads.flatMap(leftOutOf).map(({ id, path }) => [id, { id, path }]));
  return items.size > 0 ? { unreadable: [...items.values()] } : {};
}
