/**
 * Stores: the two contracts that adapters keep, the records, and how the service uses stores.
 *
 * This file is the contract of the store for short-lived protocol records: sessions, grants, codes, tokens, counters, leases. The contract of the
 * durable one is `directory-store`. `adapters/conformance` is the executable form of both. Around them are caches and the change feed, encryption
 * (`sealer`), the common clock, timeouts and outages.
 */
declare const keyBrand: unique symbol;

/**
 * Where an artifact is kept, made by `artifactKey`: `Kind{slot}digest`. It never contains the id itself, and all keys of one
 * slot can be written atomically together (the braces are a Redis Cluster hash tag).
 */
export type ArtifactKey = string & { readonly [keyBrand]: true };

/** A record as the store returns it. Instants are whole milliseconds since the epoch. */
export interface Artifact {
  readonly key: ArtifactKey;
  /** Opaque to the store. */
  readonly value: string;
  /** 1 when first put, one more with each put. */
  readonly version: number;
  /** From this instant on the record reads as absent, whether or not it was swept. */
  readonly expiresAt: number;
  /** When the record was spent, if it is a one-time one and was used. */
  readonly consumedAt?: number;
  /** The `oid` whose records {@link ArtifactStore.listByAccount} lists. */
  readonly account?: string;
  /** Records that are read together with this one, by name. All are in the record's own slot. */
  readonly links?: Readonly<Record<string, ArtifactKey>>;
}

/**
 * When a put may happen: `absent` (no live record), `unconsumed` (a live record that was not spent), or a live record of exactly this version.
 */
export type Condition = 'absent' | 'unconsumed' | { readonly version: number };

export interface Put extends Omit<Artifact, 'version'> {
  readonly op: 'put';
  /** Without one, the put creates or replaces. A removed key is never revived before its tombstone ends, condition or not. */
  readonly if?: Condition;
}

export interface Remove {
  readonly op: 'remove';
  readonly key: ArtifactKey;
  /** Until this instant the key reads as absent and every put of it loses. A second removal never shortens the first. */
  readonly until: number;
}

export type ArtifactWrite = Put | Remove;

/** `lost` is the key of the first write whose condition did not hold; nothing of the commit was written then. */
export type CommitResult = { readonly ok: true } | { readonly ok: false; readonly lost: ArtifactKey };

export interface ReadRequest {
  readonly key: ArtifactKey;
  /** Names of {@link Artifact.links} to read along, one level deep. */
  readonly follow?: readonly string[];
}

export interface Counter {
  /** The count after this call. */
  readonly count: number;
  /** When the window ends and the count starts again, in milliseconds since the epoch. */
  readonly resetsAt: number;
}

export interface ArtifactStore {
  /** For `health()` and messages: `memory`, `redis`, … */
  readonly name: string;
  /** True when records do not survive the process; refused in production. */
  readonly ephemeral: boolean;
  /**
   * Makes the store ready; every other call but `health` comes after it. Safe to call again and from many nodes at once.
   * @param now what {@link time} says, as far as the node knows it: for a store that compares instants in this process. @default the node's clock
   * @throws IdpError `store_unfit` when its server is set up so that records would be lost, or its client so that it may not find it again.
   */
  open(now?: () => number): Promise<void>;
  /** All live records among the requested keys and the links they follow, in one round trip. */
  read(requests: readonly ReadRequest[]): Promise<ReadonlyMap<ArtifactKey, Artifact>>;
  /** All writes or none, in one round trip where the keys share a slot. A key occurs once in a commit. */
  commit(writes: readonly ArtifactWrite[]): Promise<CommitResult>;
  /** Live records of an account, in no particular order. */
  listByAccount(account: string): Promise<readonly Artifact[]>;
  /**
   * Adds `by` (default 1; negative gives back, never below 0; 0 reads) to a counter atomically. The window starts with the first hit that
   * adds and lasts `window` milliseconds; before it, the count is 0 and resets now.
   */
  hit(counter: ArtifactKey, window: number, by?: number): Promise<Counter>;
  /**
   * Takes or renews a lease for `ttl` milliseconds; true when `holder` has it. At most one holder at a time. A `ttl` of 0 gives it back;
   * true when it was the holder's to give.
   */
  lease(name: string, holder: string, ttl: number): Promise<boolean>;
  /**
   * The time by the clock that all nodes of the service share: the server's, in milliseconds since the epoch. Each node asks every few seconds
   * how far its own is off. Absent where the store is in the process.
   */
  time?(): Promise<number>;
  /** Rejects when the store cannot be reached. Whether it takes writes is asked by a write, not here. */
  health(): Promise<void>;
  close(): Promise<void>;
}
