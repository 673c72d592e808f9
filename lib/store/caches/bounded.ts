import { LRUCache } from 'lru-cache';

/** A cache that drops what was used longest ago. */
export interface Bounded<V> {
  get(key: string): V | undefined;
  has(key: string): boolean;
  set(key: string, value: V): void;
  clear(): void;
}

/**
 * `lru-cache` makes room for all of its values at once, which takes milliseconds for 10,000. This one does so with its first value, because many a process
 * keeps none in most of its caches.
 */
export function createBounded<V extends object | string | true>(options: {
  /** Values kept. */
  readonly max: number;
  /** Milliseconds that each is kept. @default for good */
  readonly ttl?: number;
}): Bounded<V> {
  let cache: LRUCache<string, V> | undefined;
  return {
    get: (key) => cache?.get(key),
    has: (key) => cache?.has(key) ?? false,
    set(key, value) {
      cache ??= new LRUCache<string, V>(options);
      cache.set(key, value);
    },
    clear() {
      if (cache !== undefined && cache.size > 0) cache.clear();
    },
  };
}
