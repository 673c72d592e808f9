import { LRUCache } from 'lru-cache';

/** A cache that drops the values that were used longest ago. */
export interface Bounded<V> {
  get(key: string): V | undefined;
  has(key: string): boolean;
  set(key: string, value: V): void;
  delete(key: string): unknown;
  clear(): void;
}

/**
 * Gives each value the size 1 and limits the sum, because `max` would make `lru-cache` allocate all room at the start. For 10,000 values,
 * that takes milliseconds.
 */
export const createBounded = <V extends object | string | true>({
  max,
  ttl = 0,
}: {
  /** Values kept. */
  readonly max: number;
  /** Milliseconds that each value is kept. @default no limit */
  readonly ttl?: number;
}): Bounded<V> => new LRUCache<string, V>({ maxSize: max, sizeCalculation: () => 1, ttl });
