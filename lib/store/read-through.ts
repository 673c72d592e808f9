import { LRUCache } from 'lru-cache';

/** How long it is remembered that there is nothing, in milliseconds. */
const ABSENT_TTL_MS = 1000;
/** What is absent has a small place of its own: names that callers make up push out nothing that exists. */
const MAX_ABSENT = 1000;
/** Nor do they fill the memory: an absent name that is longer than this is not remembered. */
const MAX_ABSENT_NAME = 256;

export interface ReadThrough<V> {
  /** The value of a key, loaded if need be; calls at the same time share one load. Undefined when there is none. */
  get(key: string): Promise<V | undefined>;
  /** The value, if it is kept: for paths that every request takes, where a promise for what is at hand costs more than the look-up. */
  peek(key: string): V | undefined;
  /** Forgets everything; a load that is under way answers its callers but is not kept. */
  clear(): void;
}

export interface ReadThroughOptions {
  /** Values kept. */
  readonly max: number;
  /** Milliseconds. */
  readonly ttl: number;
}

/** @param load what it throws is thrown on and not kept. */
export function createReadThrough<V extends object>(
  load: (key: string) => Promise<V | undefined>,
  { max, ttl }: ReadThroughOptions,
): ReadThrough<V> {
  const values = new LRUCache<string, V>({ max, ttl });
  const absent = new LRUCache<string, true>({ max: MAX_ABSENT, ttl: ABSENT_TTL_MS });
  const loads = new Map<string, Promise<V | undefined>>();

  const keep = (key: string, value: V | undefined): void => {
    if (value !== undefined) values.set(key, value);
    else if (key.length <= MAX_ABSENT_NAME) absent.set(key, true);
  };

  const loadOnce = async (key: string): Promise<V | undefined> => {
    const loading = load(key);
    loads.set(key, loading);
    try {
      const value = await loading;
      if (loads.get(key) === loading) keep(key, value);
      return value;
    } finally {
      if (loads.get(key) === loading) loads.delete(key);
    }
  };

  return {
    async get(key) {
      return values.get(key) ?? (absent.has(key) ? undefined : (loads.get(key) ?? loadOnce(key)));
    },
    peek: (key) => values.get(key),
    clear() {
      values.clear();
      absent.clear();
      // A load whose promise is no longer here began before the change, so it may hold what was.
      loads.clear();
    },
  };
}
