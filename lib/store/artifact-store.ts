/**
 * Stores: the two contracts that adapters keep, the records, and how the service uses stores.
 *
 * `artifact-store` is the contract of the store for short-lived protocol records: sessions, grants, codes, tokens, counters, leases.
 * `directory-store` is the contract of the store for durable records. `adapters/conformance` is the executable form of both contracts. The
 * folder also has caches and the change feed, encryption (`sealer`), the shared clock, timeouts and outages.
 */
declare const keyBrand: unique symbol;

/**
 * Address of an artifact in the store, made by `artifactKey`: `Kind{slot}digest`. The address never contains the id itself. All store keys of one
 * slot can be written in one atomic commit. The braces are a Redis Cluster hash tag.
 */
export type ArtifactKey = string & { readonly [keyBrand]: true };

/** A record as the store returns it. Instants are whole milliseconds since the epoch. */
export interface Artifact {
  readonly key: ArtifactKey;
  /** Content of the record, opaque to the store. */
  readonly value: string;
  /** Version of the record: 1 after the first put, and 1 more after each further put. */
  readonly version: number;
  /** Instant from which the record reads as absent, even before the store has removed it. */
  readonly expiresAt: number;
  /** Instant at which a one-time record was consumed. */
  readonly consumedAt?: number;
  /** The `oid` whose records {@link ArtifactStore.listByAccount} lists. */
  readonly account?: string;
  /** Records that are read together with this record, by name. All are in the record's own slot. */
  readonly links?: Readonly<Record<string, ArtifactKey>>;
}

/** Condition of a put: `absent` (no live record), `unconsumed` (a live record that was not spent), or a live record of exactly this version. */
export type Condition = 'absent' | 'unconsumed' | { readonly version: number };

export interface Put extends Omit<Artifact, 'version'> {
  readonly op: 'put';
  /** Without a condition, the put creates or replaces. No put revives a removed artifact before its tombstone ends, with or without a condition. */
  readonly if?: Condition;
}

export interface Remove {
  readonly op: 'remove';
  readonly key: ArtifactKey;
  /** Instant until which the store key reads as absent and every put of it loses. A second removal never shortens the first. */
  readonly until: number;
}

export type ArtifactWrite = Put | Remove;

/** `lost` is the store key of the first write whose condition did not hold. Nothing of the commit was written in this case. */
export type CommitResult = { readonly ok: true } | { readonly ok: false; readonly lost: ArtifactKey };

export interface ReadRequest {
  readonly key: ArtifactKey;
  /** Names of {@link Artifact.links} whose records are read too, one level deep. */
  readonly follow?: readonly string[];
}

export interface Counter {
  /** The count after this call. */
  readonly count: number;
  /** Instant at which the window ends and the count starts again, in milliseconds since the epoch. */
  readonly resetsAt: number;
}

export interface ArtifactStore {
  /** Name of the store, for `health()` and messages: `memory`, `redis`, … */
  readonly name: string;
  /** Whether records are lost when the process ends; refused in production. */
  readonly ephemeral: boolean;
  /** Set for a store that serves one process alone, which production logs. @default the store serves any number of nodes */
  readonly nodes?: 1;
  /**
   * Makes the store ready. The service calls no other method except `health` before this method. Many nodes may call this method, repeatedly and at the
   * same time.
   * @param now the node's estimate of {@link time}, for a store that compares instants in this process. @default the node's clock
   * @throws IdpError `store_unfit` when the settings of the server would lose records, or the settings of the client may keep it from reconnecting.
   */
  open(now?: () => number): Promise<void>;
  /** Returns all live records among the requested store keys and the records that they follow by `links`, in one round trip. */
  read(requests: readonly ReadRequest[]): Promise<ReadonlyMap<ArtifactKey, Artifact>>;
  /**
   * Makes all writes or none, in one round trip if the store keys share a slot.
   * @throws TypeError if a store key occurs twice in a commit. In this case, no write is made.
   */
  commit(writes: readonly ArtifactWrite[]): Promise<CommitResult>;
  /** Returns the live records of an account, in no particular order. */
  listByAccount(account: string): Promise<readonly Artifact[]>;
  /**
   * Adds `by` (default 1; negative gives back, never below 0; 0 reads) to a counter atomically. The window starts with the first hit that
   * adds and lasts `window` milliseconds; before it, the count is 0 and resets now.
   */
  hit(counter: ArtifactKey, window: number, by?: number): Promise<Counter>;
  /**
   * Takes or renews a lease for `ttl` milliseconds. Returns true when `holder` has the lease. A lease has one holder at a time. A `ttl` of
   * 0 gives the lease back, and returns true when `holder` had it.
   */
  lease(name: string, holder: string, ttl: number): Promise<boolean>;
  /**
   * Returns the time of the server's clock, which all nodes share, in milliseconds since the epoch. Each node compares its own clock with the server's
   * clock every few seconds. An answer after 1.5 seconds does not count, and a node does not start before an answer counts. Absent where the store is in
   * the process.
   */
  time?(): Promise<number>;
  /** Rejects when the store cannot be reached. A resolved call does not mean that the store takes writes, because only a write finds that out. */
  health(): Promise<void>;
  close(): Promise<void>;
}
