/**
 * Entries that expire. The sweep removes expired entries, because records that are never read again would fill the memory. Reads check expiry themselves.
 */

export interface Expiring {
  readonly entries: ReadonlyMap<string, { readonly until: number }>;
  drop(key: string): void;
}

/** Ticks of a round over all entries. With this number, memory is freed within half a minute, and no tick blocks for long. */
const TICKS_PER_ROUND = 30;
const TICK_MS = 1000;

/** @returns a function that stops the sweep. The timer does not keep Node.js running. */
export function startSweep(tables: readonly Expiring[]): () => void {
  const sweepers = tables.map(sweeper);
  const timer = setInterval(() => {
    const now = Date.now();
    for (const sweep of sweepers) sweep(now);
  }, TICK_MS).unref();
  return () => clearInterval(timer);
}

function sweeper({ entries, drop }: Expiring): (now: number) => void {
  let cursor = entries.entries();
  return (now) => {
    for (let left = Math.ceil(entries.size / TICKS_PER_ROUND); left > 0; left--) {
      const next = cursor.next();
      if (next.done) {
        cursor = entries.entries();
        return;
      }
      const [key, { until }] = next.value;
      if (until <= now) drop(key);
    }
  };
}
