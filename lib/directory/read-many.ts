/** Maximum number of records that are read one by one, through the caches where there are any. */
export const MOST_SINGLE_READS = 20;

/**
 * Reads the records of many ids or names. A few records are read one by one. For more, one call of the store reads all records. So a long list in a
 * request costs no more reads than a short one.
 */
export async function readMany<R>(
  keys: readonly string[],
  { one, all, keyOf }: { one(key: string): Promise<R | undefined>; all(): Promise<readonly R[]>; keyOf(record: R): string },
): Promise<readonly (R | undefined)[]> {
  if (keys.length <= MOST_SINGLE_READS) return Promise.all(keys.map(one));
  const byKey = new Map((await all()).map((record) => [keyOf(record), record]));
  return keys.map((key) => byKey.get(key));
}
