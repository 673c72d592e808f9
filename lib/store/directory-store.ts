/**
 * The contract of the store for durable records: tenants, persons, clients, keys, events.
 * `adapters/conformance` is its executable form.
 */

/** What every durable record has. Rows that a store returns are frozen; instants are `Date`s. */
export interface Row {
  readonly id: string;
  /** Set by the store: 1 after insert, one more with each write. */
  readonly version: number;
}

/** A row as it is given to the store, which sets the version itself. */
export type Unsaved<R extends Row> = Omit<R, 'version'> & { readonly version?: number };

/**
 * An index over one or more fields. A field is a path (`user.userNameKey`); a row that lacks one of them is not in the index; of an array
 * each element is. At most one field of an index may be an array.
 */
export interface IndexSpec {
  readonly fields: readonly string[];
  readonly unique?: boolean;
  /**
   * What the last field holds, for an index whose rows are read in its order: it is no array then, and a row with a value of another kind is not
   * in the index. @default none: the index is for look-ups alone
   */
  readonly order?: Order;
}

export type Order = 'text' | 'instant' | 'number';
/** Texts come in the order of their code points, instants and numbers from the lowest. */
export type Ordered = string | Date | number;

export interface CollectionSpec {
  readonly name: string;
  readonly indexes: Readonly<Record<string, IndexSpec>>;
}

/** An index by name, with the values of all its fields: `{ byUserName: [tid, 'alice'] }`. Empty: all rows. */
export type Where = Readonly<Record<string, readonly string[]>>;

/** Keyset paging: rows come in the order of their ids; `after` is the last id of the page before. */
export interface Page {
  readonly limit: number;
  readonly after?: string;
}

/** Where a row is in an index: behind all rows of a lower value, and those of its value with a lower id. */
export interface Position {
  readonly value: Ordered;
  readonly id: string;
}

/** A stretch of an index that has an order: rows by their value in the last field, and by their id where that is the same. */
export interface Range {
  readonly index: string;
  /** Values of all fields but the last. */
  readonly within: readonly string[];
  /** The lowest value. @default no bound */
  readonly from?: Ordered;
  /** A value above all others. @default no bound */
  readonly below?: Ordered;
  /** The beginning of each value, of an index of texts. @default any */
  readonly prefix?: string;
  /** @default false */
  readonly descending?: boolean;
  /** The last position that was read; its row may have moved or gone. */
  readonly after?: Position;
  /** Rows, at most. */
  readonly limit: number;
}

export interface Collection<R extends Row> {
  get(id: string): Promise<R | undefined>;
  /** Rows of one declared index (any other query is refused), ordered by id. Without a page, all. */
  find(where: Where, page?: Page): Promise<readonly R[]>;
  /** Rows of one stretch of a declared index that has an order (any other query is refused), in that order. */
  range(range: Range): Promise<readonly R[]>;
  /** @throws IdpError `conflict` when the id or a unique value is taken; it does not say which. */
  insert(row: Unsaved<R>): Promise<R>;
  /** Creates or replaces by id. @throws IdpError `conflict` when a unique value is taken. */
  put(row: Unsaved<R>): Promise<R>;
  /**
   * Compare-and-swap: `change` gets the current row and returns the next one. It may run again when another write came between, so it has
   * no effects of its own; what it throws is thrown on. Returning its argument writes nothing.
   * @returns the row as it is now, or undefined when there is none.
   * @throws IdpError `conflict` when a unique value is taken.
   */
  update(id: string, change: (row: R) => Unsaved<R>): Promise<R | undefined>;
  /** True when there was one. @param version the row goes only if it still has this one */
  remove(id: string, version?: number): Promise<boolean>;
}

export interface DirectoryStore {
  /** For `health()` and messages: `memory`, `mongo`, … */
  readonly name: string;
  /** True when records do not survive the process; refused in production. */
  readonly ephemeral: boolean;
  /** Makes the collections and their indexes ready; every other call but `health` comes after it. Safe to call again and from many nodes at once. */
  open(specs: readonly CollectionSpec[]): Promise<void>;
  /** A collection that was opened. */
  collection<R extends Row>(name: string): Collection<R>;
  /** Rejects when the store cannot be reached. Whether it takes writes is asked by a write, not here. */
  health(): Promise<void>;
  close(): Promise<void>;
}
