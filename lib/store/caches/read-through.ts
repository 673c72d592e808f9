import { UnavailableError } from '../../errors.js';
import { createBounded } from './bounded.js';

/** Milliseconds for which an absent key is remembered. */
const ABSENT_TTL_MS = 1000;
/** Maximum absent keys that are remembered. Absent keys have a separate small cache, so that invented names push out no value. */
const MAX_ABSENT = 1000;
/** Characters of the longest absent key that is remembered, so that made-up names do not fill the memory. */
const MAX_ABSENT_NAME = 256;
/** Milliseconds in which callers share a load. A load of a process that was stopped in between may answer what the store had before. */
const SHARED_MS = 2_000;
/** Milliseconds after a failed load in which an outage is assumed, so that not each read waits for a store that hangs. */
const AWAY_MS = 1000;

export interface ReadThrough<V> {
  /** Returns the value of a key, loaded where the cache does not have it; undefined when there is none. Concurrent calls share one load. */
  get(key: string): Promise<V | undefined>;
  /** Returns the value if the cache has it. Some callers run at every request, where a promise would cost more than the look-up. */
  peek(key: string): V | undefined;
  /** Forgets the value of a key. A load of the key that is under way answers its callers, and its value is not kept. */
  forget(key: string): void;
  /** Forgets all values, as {@link ReadThrough.forget} does. */
  clear(): void;
}

/** A load under way. */
interface Load<V> {
  /** Outcome for all callers, also in an outage. */
  readonly value: Promise<V | undefined>;
  readonly begunAt: number;
}

/** Whether this node knows what other nodes have changed. */
export interface Currency {
  isCurrent(): boolean;
}

export interface ReadThroughOptions {
  /** Values kept. */
  readonly max: number;
  /** Milliseconds that a value is kept. */
  readonly ttl: number;
  /**
   * While this node is not current, the cache loads each value again. Only if the load throws that a store is unavailable, the cache returns
   * its own value.
   */
  readonly currency: Currency;
  /** Whether an expired value, or an expired absence, is still returned while `load` throws that a store is unavailable. @default false */
  readonly standsInOutage?: boolean;
  /** Whether even a value that has not expired is not returned if this node is not current and `load` throws. @default false */
  readonly isUnansweredInOutage?: boolean;
}

/** @param load returns the value of a key. Errors of `load` are thrown to the caller and not kept. */
export const createReadThrough = <V extends object>(
  load: (key: string) => Promise<V | undefined>,
  options: ReadThroughOptions,
): ReadThrough<V> => new Cache(load, options);

class Cache<V extends object> implements ReadThrough<V> {
  readonly #load: (key: string) => Promise<V | undefined>;
  readonly #currency: Currency;
  readonly #isUnansweredInOutage: boolean;
  readonly #values;
  readonly #last;
  readonly #absent;
  readonly #lastAbsent;
  readonly #loads = new Map<string, Load<V>>();
  #awayUntil = Number.NEGATIVE_INFINITY;

  constructor(
    load: (key: string) => Promise<V | undefined>,
    { max, ttl, currency, standsInOutage = false, isUnansweredInOutage = false }: ReadThroughOptions,
  ) {
    this.#load = load;
    this.#currency = currency;
    this.#isUnansweredInOutage = isUnansweredInOutage;
    this.#values = createBounded<V>({ max, ttl });
    this.#last = standsInOutage ? createBounded<V>({ max }) : undefined;
    this.#absent = createBounded<true>({ max: MAX_ABSENT, ttl: ABSENT_TTL_MS });
    this.#lastAbsent = standsInOutage ? createBounded<true>({ max: MAX_ABSENT }) : undefined;
  }

  // The methods are arrows, because callers take them out of the cache.
  get = async (key: string): Promise<V | undefined> => {
    const load = () => this.#underWay(key) ?? this.#loadOnce(key);
    if (!this.#answers()) return load();
    return this.#values.get(key) ?? (this.#absent.has(key) ? undefined : load());
  };

  peek = (key: string): V | undefined => (this.#answers() ? this.#values.get(key) : undefined);

  forget = (key: string): void => {
    this.#values.delete(key);
    this.#last?.delete(key);
    this.#absent.delete(key);
    this.#lastAbsent?.delete(key);
    // A load under way began before the change, so its value may be outdated and is not kept.
    this.#loads.delete(key);
  };

  clear = (): void => {
    this.#values.clear();
    this.#last?.clear();
    this.#absent.clear();
    this.#lastAbsent?.clear();
    this.#loads.clear();
  };

  #answers(): boolean {
    return this.#currency.isCurrent() || (!this.#isUnansweredInOutage && this.#awayUntil > performance.now());
  }

  #underWay(key: string): Promise<V | undefined> | undefined {
    const load = this.#loads.get(key);
    return load && performance.now() - load.begunAt <= SHARED_MS ? load.value : undefined;
  }

  #loadOnce(key: string): Promise<V | undefined> {
    let mine: Load<V> | undefined;
    const value = this.#valueOf(key, () => this.#loads.get(key) === mine);
    mine = { begunAt: performance.now(), value };
    this.#loads.set(key, mine);
    return value;
  }

  /** Loads a value. While the store is unavailable, returns the value that this node has, if it may. */
  async #valueOf(key: string, isCurrent: () => boolean): Promise<V | undefined> {
    try {
      const value = await this.#load(key);
      if (isCurrent()) this.#keep(key, value);
      return value;
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      this.#awayUntil = performance.now() + AWAY_MS;
      const before = this.#last?.get(key) ?? (this.#isUnansweredInOutage ? undefined : this.#values.get(key));
      if (before === undefined && this.#lastAbsent?.has(key) !== true) throw error;
      return before;
    } finally {
      if (isCurrent()) this.#loads.delete(key);
    }
  }

  #keep(key: string, value: V | undefined): void {
    this.#awayUntil = Number.NEGATIVE_INFINITY;
    if (value !== undefined) {
      this.#values.set(key, value);
      this.#last?.set(key, value);
      this.#absent.delete(key);
      this.#lastAbsent?.delete(key);
      return;
    }
    this.#values.delete(key);
    this.#last?.delete(key);
    if (key.length > MAX_ABSENT_NAME) return;
    this.#absent.set(key, true);
    this.#lastAbsent?.set(key, true);
  }
}
