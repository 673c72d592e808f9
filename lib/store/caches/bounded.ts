import { LRUCache } from 'lru-cache';

/** A cache that drops what was used longest ago. */
export interface Bounded<V> {
  get(key: string): V | undefined;
  has(key: string): boolean;
  set(key: string, value: V): void;
  delete(key: string): unknown;
  clear(): void;
}

/** Limits the values by a size of one each, because `max` makes `lru-cache` allocate all room at the start: milliseconds for 10,000 values. */
export const createBounded = <V extends object | string | true>({
  max,
  ttl = 0,
}: {
  /** Values kept. */
  readonly max: number;
  /** Milliseconds that each is kept. @default for good */
  readonly ttl?: number;
}): Bounded<V> => new LRUCache<string, V>({ maxSize: max, sizeCalculation: () => 1, ttl });
