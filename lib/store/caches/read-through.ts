import { UnavailableError } from '../../errors.js';
import { createBounded } from './bounded.js';

/** Milliseconds for which an absent key is remembered. */
const ABSENT_TTL_MS = 1000;
/** Maximum absent keys that are remembered. Absent keys have a separate small cache, so that invented names push out no value. */
const MAX_ABSENT = 1000;
/** Characters of the longest absent key that is remembered, so that made-up names do not fill the memory. */
const MAX_ABSENT_NAME = 256;

export interface ReadThrough<V> {
  /** Returns the value of a key, loaded where the cache does not have it; undefined when there is none. Concurrent calls share one load. */
  get(key: string): Promise<V | undefined>;
  /** Returns the value if the cache has it. Some callers run at every request, where a promise would cost more than the look-up. */
  peek(key: string): V | undefined;
  /** Clears the cache. A load that is under way answers its callers, and its value is not kept. */
  clear(): void;
}

export interface ReadThroughOptions {
  /** Values kept. */
  readonly max: number;
  /** Milliseconds that a value is kept. */
  readonly ttl: number;
  /** Whether an expired value, or an expired absence, is still returned while `load` throws that a store is unavailable. @default false */
  readonly standsInOutage?: boolean;
}

/** @param load returns the value of a key. Errors of `load` are thrown to the caller and not kept. */
export function createReadThrough<V extends object>(
  load: (key: string) => Promise<V | undefined>,
  { max, ttl, standsInOutage = false }: ReadThroughOptions,
): ReadThrough<V> {
  const values = createBounded<V>({ max, ttl });
  const last = standsInOutage ? createBounded<V>({ max }) : undefined;
  const absent = createBounded<true>({ max: MAX_ABSENT, ttl: ABSENT_TTL_MS });
  const lastAbsent = standsInOutage ? createBounded<true>({ max: MAX_ABSENT }) : undefined;
  const loads = new Map<string, Promise<V | undefined>>();

  const keep = (key: string, value: V | undefined): void => {
    if (value !== undefined) {
      values.set(key, value);
      last?.set(key, value);
      lastAbsent?.delete(key);
      return;
    }
    last?.delete(key);
    if (key.length > MAX_ABSENT_NAME) return;
    absent.set(key, true);
    lastAbsent?.set(key, true);
  };

  const loadOnce = async (key: string): Promise<V | undefined> => {
    const loading = load(key);
    loads.set(key, loading);
    try {
      const value = await loading;
      if (loads.get(key) === loading) keep(key, value);
      return value;
    } catch (error) {
      const before = error instanceof UnavailableError ? last?.get(key) : undefined;
      const wasAbsent = error instanceof UnavailableError && lastAbsent?.has(key) === true;
      if (before === undefined && !wasAbsent) throw error;
      return before;
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
      last?.clear();
      absent.clear();
      lastAbsent?.clear();
      // A load under way began before the change, so its value may be outdated and is not kept.
      loads.clear();
    },
  };
}
